"""Text of others on a terminal: shown, and never obeyed."""

import re

# Control characters, which move the cursor and recolour the screen, and those that turn or hide what follows them.
_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)


def plain(text: object) -> str:
    """Return the text on one line, with what a terminal would obey or hide written out as its code point."""
    return _UNSAFE.sub(lambda found: f"<U+{ord(found[0]):04X}>", str(text))
