"""Technical text from the docstrings of installed packages and of Python's standard library. A topic is a package."""

import ast
import re
import sysconfig
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

FEWEST = 60
"""Minimum number of paragraphs of a topic. Packages with fewer paragraphs are left out."""
MOST = 400
"""Maximum number of paragraphs of a topic."""
WORDS = range(10, 151)
"""Allowed numbers of words in a paragraph. Shorter and longer paragraphs are left out."""
FILES = 150
"""Maximum number of files that are read of each package."""


@cache
def paragraphs_by_topic() -> dict[str, list[str]]:
    """Return a dictionary from the name of each package to the paragraphs of the package's docstrings."""
    roots = [Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("stdlib"))]
    by_package = {}
    for directory in sorted(path for root in roots for path in root.iterdir() if path.is_dir()):
        if directory.name.isidentifier() and directory.name not in ("test", "site", "tests", "infra", "functions"):
            paragraphs = _first_distinct(text for file in files(directory) for text in paragraphs_of(file))
            if len(paragraphs) >= FEWEST:
                by_package[directory.name] = paragraphs
    return by_package


def _first_distinct(texts: Iterable[str]) -> list[str]:
    """Return texts without repetitions. Stop after MOST texts, because parsing a large package takes seconds."""
    distinct: dict[str, None] = {}
    for text in texts:
        distinct[text] = None
        if len(distinct) == MOST:
            break
    return list(distinct)


def files(directory: Path) -> list[Path]:
    """Return at most FILES modules of a package, without its tests."""
    modules = sorted(directory.rglob("*.py"))
    return [file for file in modules if "test" not in file.relative_to(directory.parent).as_posix()][:FILES]


def docstrings(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the docstring of each module, class and function in a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # do not warn of invalid escapes in the source
        try:
            module = ast.parse(file.read_text(errors="replace"))
        except (SyntaxError, ValueError, RecursionError):
            return
    for node in _statements(module):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if text := ast.get_docstring(node):
            yield getattr(node, "name", file.stem), text


def _statements(module: ast.Module) -> Iterator[ast.AST]:
    """Yield the module and its statements in the order of `ast.walk`. Skip expressions, to save time."""
    waiting: deque[ast.AST] = deque([module])
    while waiting:
        node = waiting.popleft()
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            if isinstance(parts := getattr(node, name, None), list):
                waiting.extend(parts)
        yield node


def paragraphs_of(file: Path, words: range = WORDS) -> Iterator[str]:
    """Yield each paragraph of a file's docstrings as one line, if its number of words is in `words`."""
    for _, text in docstrings(file):
        for paragraph in re.split(r"\n\s*\n", text):
            line = " ".join(paragraph.split())
            if len(line.split()) in words and line.isprintable():
                yield line
