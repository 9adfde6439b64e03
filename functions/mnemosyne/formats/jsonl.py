"""JSON lines: one memory a line, as `mnemosyne export` and warehouses write them."""

import json
from collections.abc import Iterator
from typing import BinaryIO

from mnemosyne.domain.memory import MEMORY_FIELDS
from mnemosyne.formats.item import ITEM_BYTES, Item, item_of, tags_of, timestamp


def read(stream: BinaryIO, name: str, *, skip: int = 0) -> Iterator[Item]:
    """One item per line that is not blank, after as many as are to be skipped; no line is held beyond its limit."""
    number = 0
    while line := stream.readline(ITEM_BYTES):
        number += 1
        source = f"{name}:{number}"
        is_long = len(line) == ITEM_BYTES and not line.endswith(b"\n")
        if is_long:
            while (rest := stream.readline(ITEM_BYTES)) and not rest.endswith(b"\n"):
                pass
        if skip and (is_long or line.strip()):
            skip -= 1
        elif is_long:
            yield Item(source, None, f"a line must have at most {ITEM_BYTES:,} bytes", line=number)
        elif line.strip():
            yield _item(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, source, number)


def _item(line: bytes, source: str, number: int) -> Item:
    try:
        fields = json.loads(line.decode())
    except (ValueError, RecursionError) as exc:
        return Item(source, None, f"not JSON: {exc}", line=number)
    if not isinstance(fields, dict):
        return Item(source, None, "not a JSON object", line=number)
    arguments = {one: fields[one] for one in MEMORY_FIELDS if fields.get(one) is not None}
    for one, read_ in (("timestamp", timestamp), ("tags", tags_of)):
        if one in arguments:
            arguments[one] = read_(arguments[one])
    return item_of(source, number, fields, arguments, MEMORY_FIELDS)
