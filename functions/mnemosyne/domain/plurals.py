"""Numbers of things in sentences for people. Pure."""


def counted(count: int, singular: str, plural: str = "") -> str:
    """Return "1 memory" or "2,000 memories"; the plural is the singular with an s if it is not given."""
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"
