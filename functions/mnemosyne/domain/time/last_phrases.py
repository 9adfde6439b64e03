"""Recognise phrases such as "the last day of school", which are not times relative to now. Pure."""

from mnemosyne.domain.change_words import FUNCTION

_PERIOD = frozenset({"in", "within", "during", "over", "since", "from", "for"})
"""Prepositions before a period that ends now: "in the last minute"."""
_POINT = frozenset({"at", "on", "by", "to", "until", "till", "before"})
"""Prepositions before the end of something: "on the last day", "by the last hour"."""


def is_end_of_something(words: list[str], following: str) -> bool:
    """Whether the words end with "last" and a unit that mean the end of something, and not a period until now.

    The words are in lower case. `following` is the next word of the sentence, or empty. "Last minute" is also a set
    phrase, as in "last minute changes". So it is a period only after a preposition such as "in", and without "the" only
    if no noun follows. Every word that is not a function word counts as a noun.
    """
    second, first, last, unit = ["", "", "", *words][-4:]
    if last != "last":
        return False
    if following == "of":
        return True
    if unit == "minute":
        is_before_noun = following != "" and following not in FUNCTION
        return not (second in _PERIOD if first == "the" else first in _PERIOD and not is_before_noun)
    return unit in ("hour", "day") and first == "the" and second in _POINT
