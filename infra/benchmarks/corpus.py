"""Real text for benchmarks: paragraphs of the docstrings of all installed packages."""

import random
import sysconfig
from pathlib import Path

from infra.benchmarks.sets.passages import paragraphs_of

WORDS = range(8, 121)
"""Minimum and maximum words of a paragraph that is used as a memory."""


def texts(count: int) -> list[str]:
    """Return `count` different texts, which are the same in each run in the same environment.

    If there are too few paragraphs, some texts are two paragraphs.
    """
    rng = random.Random(7)
    distinct: dict[str, None] = {}
    for file in rng.sample(files := _files(), len(files)):
        distinct |= dict.fromkeys(paragraphs_of(file, WORDS))
        if len(distinct) >= count:
            break
    paragraphs = list(distinct)
    while len(distinct) < count:
        distinct[f"{rng.choice(paragraphs)} {rng.choice(paragraphs)}"] = None
    return rng.sample(list(distinct), count)


def questions(paragraphs: list[str], count: int) -> list[str]:
    """Return a question for each of the first `count` paragraphs: six consecutive words of the paragraph."""
    rng = random.Random(11)
    texts_ = []
    for paragraph in paragraphs[:count]:
        words = paragraph.split()
        start = rng.randrange(max(1, len(words) - 6))
        texts_.append(" ".join(words[start : start + 6]))
    return texts_


def _files() -> list[Path]:
    directories = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("stdlib")})
    return [file for directory in directories for file in sorted(Path(directory).rglob("*.py"))]
