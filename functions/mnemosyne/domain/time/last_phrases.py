"""Recognise phrases such as "the last day of school", which are not times relative to now. Pure."""

from mnemosyne.domain.change_words import FUNCTION

_PERIOD = frozenset({"in", "within", "during", "over", "since", "from", "for"})
"""Prepositions before a period that ends now: "in the last hour"."""
_POINT = frozenset({"at", "on", "by", "to", "until", "till", "before"})
"""Prepositions before the end of something: "at the last minute", "on the last day"."""


def is_end_of_something(words: list[str], following: str) -> bool:
    """Whether the words end with "last" and a unit that mean the end of something, and not a period until now.

    The words are in lower case. `following` is the next word of the sentence, or empty. "Last minute", "last hour" and
    "last day" mean the end of something before a noun, as in "last minute changes". Every word that is not a function
    word counts as a noun.
    """
    second, first, last, unit = ["", "", "", *words][-4:]
    if last != "last":
        return False
    if following == "of":
        return True
    if unit not in ("minute", "hour", "day"):
        return False
    preposition = second if first == "the" else first
    is_before_noun = following != "" and following not in FUNCTION
    if preposition in _PERIOD:
        return is_before_noun and unit == "minute"
    return is_before_noun or unit == "minute" or preposition in _POINT
