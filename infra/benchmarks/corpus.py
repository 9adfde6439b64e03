"""Real text for benchmarks: paragraphs of the docstrings of all installed packages."""

import ast
import random
import re
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

WORDS = range(8, 121)
"""Minimum and maximum words of a paragraph that is used as a memory."""


def texts(count: int, seed: int = 7) -> list[str]:
    """Return this many different texts, which are the same in each run in the same environment.

    If there are too few paragraphs, some texts are two paragraphs.
    """
    chosen = random.Random(seed)
    distinct: dict[str, None] = {}
    for file in chosen.sample(files := _files(), len(files)):
        distinct |= dict.fromkeys(_paragraphs(file))
        if len(distinct) >= count:
            break
    paragraphs = list(distinct)
    while len(distinct) < count:
        distinct[f"{chosen.choice(paragraphs)} {chosen.choice(paragraphs)}"] = None
    return chosen.sample(list(distinct), count)


def questions(paragraphs: list[str], count: int) -> list[str]:
    """Return six consecutive words of each of the first `count` paragraphs."""
    chosen = random.Random(11)
    texts_ = []
    for paragraph in paragraphs[:count]:
        words = paragraph.split()
        start = chosen.randrange(max(1, len(words) - 6))
        texts_.append(" ".join(words[start : start + 6]))
    return texts_


def _files() -> list[Path]:
    directories = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("stdlib")})
    return [file for directory in directories for file in sorted(Path(directory).rglob("*.py"))]


def _paragraphs(file: Path) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other packages contain invalid escapes
        try:
            module = ast.parse(file.read_text(errors="replace"))
        except (SyntaxError, ValueError, RecursionError):
            return
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for paragraph in re.split(r"\n\s*\n", ast.get_docstring(node) or ""):
                text = " ".join(paragraph.split())
                if len(text.split()) in WORDS and text.isprintable():
                    yield text
