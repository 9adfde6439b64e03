"""Read chronicles: memories as blocks of `TS:`, `TITLE:`, `TAGS:` and `BODY:` lines between two marks."""

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from mnemosyne.formats.item import ITEM_BYTES, Item

START, END = "[[[CHRONICLE_START]]]", "[[[CHRONICLE_END]]]"
_MARKS = re.compile(f"({re.escape(START)}|{re.escape(END)})")
_TS_LINE = re.compile(r"^[ \t]*TS:(.*)$", re.MULTILINE)


def read(stream: BinaryIO, name: str) -> Iterator[Item]:
    """Yield one item per chronicle (the text from START to END). Its content is this text, unchanged. Text between
    chronicles is skipped."""
    # Decode invalid UTF-8 as lone surrogates. Then only a chronicle that contains them is rejected, and not the file.
    text = io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline="")
    try:
        yield from _read_items(text, name)
    finally:
        text.detach()  # do not close the stream, because the caller closes it


def _read_items(text: io.TextIOWrapper, name: str) -> Iterator[Item]:
    block: list[str] = []
    size = began = number = last = place = 0
    while line := text.readline(ITEM_BYTES):
        number += 1
        for part in _MARKS.split(line):
            if part == START:
                if block:
                    yield _unended_chronicle_item(name, began)
                block, size, began = [part], len(part), number
            elif block:
                size += len(part)
                if size <= ITEM_BYTES:
                    block.append(part)
                if part == END:
                    place, last = (place + 1 if began == last else 1), began
                    yield replace(_build_item("".join(block), f"{name}:{began}", began, size), place=place)
                    block = []
    if block:
        yield _unended_chronicle_item(name, began)


def _unended_chronicle_item(name: str, line: int) -> Item:
    return Item(f"{name}:{line}", None, f"the chronicle has no {END}", line=line)


def _build_item(text: str, source: str, line: int, size: int) -> Item:
    when = _TS_LINE.search(text)
    if size > ITEM_BYTES:
        return Item(source, None, f"a chronicle must have at most {ITEM_BYTES:,} characters", line=line)
    if when is None:
        return Item(source, None, "the chronicle has no TS: line", line=line, raw=text)
    return Item(source, {"content": text, "timestamp": when[1].strip()}, line=line)
