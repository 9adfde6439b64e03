"""The records that an import reads, and their outcomes."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from mnemosyne.domain.memory import ExternalId, IngestState, Reading
from mnemosyne.domain.parsing import KEY_LIMIT, SOURCE_LIMIT
from mnemosyne.domain.visible import escaped
from mnemosyne.formats.item import Item


@dataclass(frozen=True)
class Source:
    """The file or folder that is imported."""

    name: str
    """Of records that fail, and of the notes in a folder, among the outcomes."""
    modified: datetime | None = None
    timezone: str = "UTC"
    """The zone of local times, in records that name none."""
    vault: str = ""
    """The source of notes, whose keys are their paths."""
    root: str = ""
    """The path as its records are named by it, if not the name."""

    @classmethod
    def at(cls, path: Path, timezone: str = "UTC", vault: str | None = None) -> "Source":
        """Return the file or folder at the path.

        A file is named as the path is written. A folder, and the folder of a note, is named by its full path, so that
        the next import finds the same notes from wherever it runs; or `vault`, if it is given.
        """
        folder = path if path.is_dir() else path.parent
        folder_name = _storable(vault or str(folder.resolve()))
        name = folder_name if path.is_dir() else _storable(str(path))
        return cls(name, datetime.fromtimestamp(path.stat().st_mtime, UTC), timezone, folder_name, str(path))

    def external_id(self, item: Item) -> ExternalId:
        """Return the name of the item: its line, or its path within the folder."""
        source = escaped(item.source.encode(errors="replace").decode())
        place = source.removeprefix(_storable(self.root or self.name)).lstrip(":/") or str(item.line)
        return ExternalId(self.name, f"{place}{item.suffix}"[-KEY_LIMIT:])


def _storable(name: str) -> str:
    return escaped(name.encode(errors="replace").decode())[-SOURCE_LIMIT:]


@dataclass(frozen=True)
class Record:
    """One record of the source, and how it was read."""

    item: Item
    reading: Reading


class Outcome(NamedTuple):
    """The state of a request."""

    state: IngestState
    memory_id: UUID | None = None
    error: str | None = None
    updated_at: str | None = None
    """When it changed last; None if the destination does not say it."""
    note: str | None = None
