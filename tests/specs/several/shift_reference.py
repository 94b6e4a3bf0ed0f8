def reference(x, by):
    return x + by
