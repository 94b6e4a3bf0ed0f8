import first


def two():
    return first.one()
