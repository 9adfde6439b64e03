"""Find records of an import that have the request id of an earlier record, or the source and key of an earlier note."""

import sqlite3
import weakref
from dataclasses import replace

from mnemosyne.domain.memory import ExternalId, FailedRequest, Reading
from mnemosyne.domain.message import as_failed, identity
from mnemosyne.formats.item import Item
from mnemosyne.ids import refused_id


def may_repeat(item: Item) -> bool:
    """Whether another record of the import can have the same request id as this record.

    This is possible for a record that has a `request_id` or `key`. It is also possible for a note: if a folder and a
    note in this folder are imported together, the note is read twice.
    """
    return item.path is not None or bool(item.fields and (item.fields.get("request_id") or item.fields.get("key")))


class SeenRequests:
    """The request ids of an import's records and the names of its notes, each with the first record that has it.

    The name of a note is the source and key among its properties. The ids and names are in a temporary SQLite database,
    because an import can have millions of records.
    """

    def __init__(self) -> None:
        # SQLite keeps a database without a name in a temporary file, and deletes the file when the database is closed.
        self._database = sqlite3.connect("", check_same_thread=False)
        weakref.finalize(self, self._database.close)  # Python 3.13 warns of a database that is not closed
        self._database.execute("CREATE TABLE seen (id BLOB PRIMARY KEY, identity TEXT, source TEXT) WITHOUT ROWID")

    def check(self, item: Item, reading: Reading, place: ExternalId) -> tuple[Reading, bool]:
        """Return the request of the record, and whether the record repeats an earlier record.

        If an earlier record has the same request id, and this record has other values or is invalid, this record is
        refused: the returned request is failed and has a new id. A note is also refused if an earlier note has the same
        properties `source` and `key`, but another text. `place` identifies the record by its file and line.
        """
        if not may_repeat(item):
            return reading, False
        key, record_identity = reading.request_id.bytes, repr(identity(reading))
        if error := self._same_name_problem(reading, record_identity, item):
            return refuse(reading, error, place), False
        first = self._find_or_store_first(key, record_identity, item)
        if first is None:
            return reading, False
        if isinstance(reading, FailedRequest):
            error = reading.error
        elif first[0] == record_identity:
            return reading, True
        else:
            error = f"request_id must be unique, got {reading.request_id}: {first[1]} has it"
        return refuse(reading, error, place), False

    def _find_or_store_first(self, key: bytes, record_identity: str, item: Item) -> tuple[str, str] | None:
        """Return the identity and the place of the first record with this key.

        If there is none, store the given record as the first one, and return None.
        """
        query = "SELECT identity, source FROM seen WHERE id = ?"
        first: tuple[str, str] | None = self._database.execute(query, (key,)).fetchone()
        if first is None:
            self._database.execute("INSERT INTO seen VALUES (?, ?, ?)", (key, record_identity, item.source))
        return first

    def _same_name_problem(self, reading: Reading, record_identity: str, item: Item) -> str:
        """Return an error if an earlier note with another text has the `source` and `key` of this note as properties.

        Without the error, one of the two notes would replace the other.
        """
        if item.path is None or isinstance(reading, FailedRequest) or not (item.fields and item.fields.get("key")):
            return ""
        name = reading.external_id
        first = self._find_or_store_first(repr(name).encode(), record_identity, item)
        if name is None or first is None or first[0] == record_identity:
            return ""
        return f"source and key must be unique, got {name.source} and {name.key}: {first[1]} has them"


def refuse(reading: Reading, error: str, place: ExternalId) -> FailedRequest:
    """Refuse a record: return a failed request with a new id.

    The new id is needed because the record's own request id belongs to another request. `place` identifies the record
    by its file and line.
    """
    failure = as_failed(reading, error)
    own_id = refused_id(place.source, place.key, error)
    return replace(failure, request_id=own_id, external_id=failure.external_id or place)
