"""Format counts with their noun. Pure."""


def quantity(count: int, singular: str, plural: str = "") -> str:
    """Format a count with its noun, such as "1 memory" or "2,000 memories".

    The default plural is the singular with an s.
    """
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"
