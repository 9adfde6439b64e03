"""Provenance of an ingest request: its publisher, and the file and line that its memory was read from. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

CLIENT = "client"
IMPORT_NAME = "import_name"
IMPORT_LINES = "import_lines"
"""Name of the message attribute with the line numbers of the records in the imported file. The first number is the line
of the first record. Each further number is the distance from the line of the previous record."""
NAME_CHARACTERS = 200
ATTRIBUTE_BYTES = 1_024
"""Maximum bytes of an attribute: https://cloud.google.com/pubsub/quotas#resource_limits"""


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """The publisher of a request, and the file and line that its memory was read from."""

    client: str | None = None
    """Name of the API key or the OAuth client."""
    import_name: str | None = None
    """Name of the imported file or object."""
    import_line: int | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The names and values of the fields that are not None."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Publisher:
    """The publisher of a message. For an import, also the name of the imported file, and the lines of the records in
    the file."""

    client: str = ""
    import_name: str = ""
    lines: Sequence[int] = ()

    @property
    def attributes(self) -> dict[str, str]:
        """The message attributes with the publisher's name, the file's name and the line numbers.

        If the line numbers do not fit into an attribute, they are left out.
        """
        steps = [line - before for line, before in zip(self.lines, [0, *self.lines], strict=False)]
        attributes = {
            CLIENT: _shorten(self.client),
            IMPORT_NAME: _shorten(self.import_name),
            IMPORT_LINES: ",".join(map(str, steps)),
        }
        return {name: value for name, value in attributes.items() if value and len(value) <= ATTRIBUTE_BYTES}


def read_provenance(attributes: Mapping[str, str], records: int) -> list[Provenance | None]:
    """Return the provenance of each record of a message. Attributes that cannot be read are ignored."""
    client, name = (_shorten(attributes.get(key, "")) or None for key in (CLIENT, IMPORT_NAME))
    line_numbers = _parse_lines(attributes.get(IMPORT_LINES, ""), records) if name else []
    lines: Sequence[int | None] = line_numbers or [None] * records
    if client is None and name is None:
        return [None] * records
    return [Provenance(client=client, import_name=name, import_line=line) for line in lines]


def _parse_lines(text: str, records: int) -> list[int]:
    try:
        lines = list(accumulate(map(int, text.split(","))))
    except ValueError:
        return []
    return lines if len(lines) == records and all(0 < line < 2**31 for line in lines) else []


def _shorten(name: str) -> str:
    """Return the last NAME_CHARACTERS of the name, without characters that cannot be stored."""
    return name.replace("\x00", "\ufffd")[-NAME_CHARACTERS:].encode(errors="replace").decode()
