"""Read JSON lines: one memory per line."""

from collections.abc import Iterator
from typing import BinaryIO

from mnemosyne.domain.archive import EXTRAS
from mnemosyne.domain.message_mistakes import with_fix
from mnemosyne.domain.nesting import check_depth
from mnemosyne.domain.parsing import read_json
from mnemosyne.domain.text_checks import excerpt
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats.item import FAILURE, ITEM_BYTES, Item, item_of

_NOT_A_RECORD = ({EXTRAS}, {FAILURE})
"""Fields of lines without a record, which are skipped. A line with only EXTRAS is from a complete export, and only
`mnemosyne import --restore` reads it. A line with only FAILURE is from the failures file of an import, and has no
record to import again."""


def read(stream: BinaryIO, name: str, *, skip: int = 0) -> Iterator[Item]:
    """Yield one item per line that is not blank, after the first `skip` items. A longer line than ITEM_BYTES becomes an
    item with an error.

    Lines without a record are skipped (see `_NOT_A_RECORD`).
    """
    number = 0
    while line := stream.readline(ITEM_BYTES):
        number += 1
        source = f"{name}:{number}"
        is_long = len(line) == ITEM_BYTES and not line.endswith(b"\n")
        if is_long:
            while (rest := stream.readline(ITEM_BYTES)) and not rest.endswith(b"\n"):
                pass
        if not is_long and not line.strip():
            continue
        if skip and (is_long or not (EXTRAS.encode() in line or FAILURE.encode() in line)):
            skip -= 1
            continue
        if is_long:
            yield Item(source, None, f"a line must have at most {ITEM_BYTES:,} bytes", line=number)
            continue
        item = _read_item(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, source, number)
        if item.fields is not None and item.fields.keys() in _NOT_A_RECORD:
            continue
        if skip:
            skip -= 1
        else:
            yield item


def _read_item(line: bytes, source: str, number: int) -> Item:
    try:
        fields = read_json(line, of="a line")
        check_depth(fields, of="a line")
    except InvalidRequest as exc:
        problem = with_fix(str(exc), _fix_of_line(line.strip()))
        return Item(source, None, problem, line=number, raw=line.decode(errors="replace").rstrip("\r\n"))
    if not isinstance(fields, dict):
        problem = f"a memory must be a JSON object, got {excerpt(fields)}"
        return Item(
            source,
            None,
            with_fix(problem, _fix_of_line(line.strip())),
            line=number,
            raw=line.decode(errors="replace").strip(),
        )
    return item_of(source, number, fields)


def _fix_of_line(line: bytes) -> str:
    """Return how to fix an invalid line that belongs to a JSON array, or to an object that has several lines.

    The result is empty for other lines.
    """
    is_part = line in (b"{", b"}", b"]") or line.startswith(b"[") or line.endswith(b",")
    return "write each memory on one line, without brackets or commas around it" if is_part else ""
