def two(:
