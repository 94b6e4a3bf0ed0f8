from second import two


def one():
    return two()
