"""Distinguish the full stop of an abbreviation from the end of a sentence. Pure."""

import re
from itertools import groupby
from typing import Final

TITLES: Final = frozenset(["Mr", "Mrs", "Ms", "Miss", "Dr", "Prof", "Herr", "Frau", "Sr", "Sra", "Mme", "M"])
"""Titles before a name, such as "Dr". They are not part of the name."""
ABBREVIATIONS: Final = (
    TITLES
    | frozenset(["St", "Ste", "Mt", "Ft", "Capt", "Lt", "Sgt", "vs", "cf", "e.g", "i.e"])
    | {"mr", "mrs", "dr", "prof"}
)
"""Abbreviations that are rarely the last word of a sentence."""
# Build one lookbehind for each length of abbreviation, because a lookbehind of Python needs alternatives of one length.
_CHECKS = "".join(
    rf"(?<!\b(?:{'|'.join(map(re.escape, words))})\.)"
    for _, words in groupby(sorted(ABBREVIATIONS, key=lambda word: (len(word), word)), len)
)
INITIAL: Final = r"\b[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]\."
"""Pattern of a single capital letter with a full stop: the initial of a name, or "plan B." at the end of a sentence."""
# The first alternative is a quick test, which saves most of the time in a text with many full stops: without a letter
# and a full stop before the place, the slower tests are not needed.
NO_ABBREVIATION: Final = rf"(?:(?<!\w\.)|(?<!{INITIAL}){_CHECKS})"
"""Pattern of a place that is not after an abbreviation or the initial of a name, such as "Dr." or "J."."""
