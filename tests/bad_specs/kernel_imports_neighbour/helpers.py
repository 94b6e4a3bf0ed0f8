scaled = 1
