"""The journal of an import: its progress, in a SQLite file next to the source, from which a later run resumes."""

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from mnemosyne.cli.private import create_own, lock_journal, private_path, require_own
from mnemosyne.errors import InvalidRequest

VERSION = 1
"""Version of the tables. Columns with a default may be added without a new version. A journal of a newer version is not
used."""
SUFFIX = ".import-journal"
UNCHANGED = "unchanged"
"""Key for the number of a batch's duplicates whose labels (such as tags) were not stored, although they differ from the
labels of the stored memory. These requests also count as duplicates."""
_SCHEMA = """
PRAGMA journal_mode = WAL;
BEGIN;
PRAGMA user_version = 1;
CREATE TABLE IF NOT EXISTS batches (
    number INTEGER PRIMARY KEY,
    contents TEXT NOT NULL,      -- digest of the contents; another digest means that the source has changed
    request_ids BLOB NOT NULL,
    states TEXT,                 -- number of outcomes in each state; null until each memory has its outcome
    left_out TEXT NOT NULL,
    present BLOB NOT NULL DEFAULT x''    -- requests that an earlier import has stored
);
CREATE TABLE IF NOT EXISTS failures (
    batch INTEGER NOT NULL, source TEXT NOT NULL, error TEXT NOT NULL, record TEXT NOT NULL DEFAULT '{}'
);
CREATE TABLE IF NOT EXISTS stored (content TEXT PRIMARY KEY, memory_id BLOB NOT NULL, is_new INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS later (
    batch INTEGER NOT NULL, content TEXT NOT NULL, source TEXT NOT NULL, successor TEXT, tags TEXT
);
COMMIT;
"""


@dataclass(frozen=True)
class PostImportUpdate:
    """A change of a memory that an ingest request cannot express.

    The import makes this change after it has stored all memories.
    """

    content: str
    """Content hash of the memory to change."""
    source: str
    successor: str | None = None
    """Content hash of the memory that supersedes (replaces) this one."""
    tags: tuple[str, ...] | None = None
    """All tags that the memory must have. This change removes the tags that were added from the memory's text."""


class Failure(NamedTuple):
    """A memory that was not stored, or that was stored with a problem, such as tags that could not be set."""

    source: str
    error: str
    record: str = "{}"
    """Fields of the record, as JSON."""


@dataclass(frozen=True)
class Published:
    """A recorded batch. It was published, or was about to be published when an earlier run ended."""

    request_ids: list[UUID]
    is_finished: bool
    present: frozenset[UUID] = frozenset()
    """Ids of the batch's requests whose memories an earlier import has stored."""


def other_journals(journals: Collection["Journal"]) -> list[Path]:
    """Return the journals of running or interrupted imports of the same sources to other destinations."""
    own = {journal.path for journal in journals}
    sources = {_without_suffixes(path) for path in own}
    directories = {path.parent for path in own}
    paths = {path for directory in directories for path in directory.glob(f"*{SUFFIX}")}
    return sorted(path for path in paths - own if _without_suffixes(path) in sources)


def _without_suffixes(path: Path) -> Path:
    return path.with_suffix("").with_suffix("")  # remove SUFFIX, and then the digest of the destination


def _pack(request_ids: Iterable[UUID]) -> bytes:
    return b"".join(request_id.bytes for request_id in request_ids)


def _unpack(data: bytes) -> list[UUID]:
    return [UUID(bytes=data[at : at + 16]) for at in range(0, len(data), 16)]


@dataclass
class Totals:
    """Totals of all batches of an import.

    `states` has the number of outcomes in each state. The keys of `left_out` are unknown fields, and notices about
    notes (Markdown files); the values are the numbers of memories that have them. `unchanged` is the number of
    duplicates whose labels were not stored, although they differ from the labels of the stored memory.
    """

    states: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    unchanged: int = 0


class Journal:
    """The journal of an import of one source (a file or folder) to one destination.

    The memory consumption of a journal does not depend on the size of the import. Only one thread may use it at a time.
    The journal's file is open only from the first use of the journal until `close`. Therefore an import of many files,
    each of which has a journal, need not have all journals open at the same time.
    """

    def __init__(self, source: Path, destination: str) -> None:
        """Open or create the journal. Raises InvalidRequest if another process uses it."""
        self.path = private_path(source, f".{hashlib.sha256(destination.encode()).hexdigest()[:8]}{SUFFIX}")
        lock_journal(self.path, source)
        for name in ("-wal", "-shm", "-journal"):
            require_own(Path(f"{self.path}{name}"), "the journal")
        create_own(self.path, "the journal")
        self.resumed = sum(1 for _ in self._database.execute("SELECT 1 FROM batches"))
        self.close()

    @cached_property
    def _database(self) -> sqlite3.Connection:
        try:
            database = sqlite3.connect(self.path, timeout=10, check_same_thread=False)
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise InvalidRequest(
                    f"the journal {self.path} is of version {version}, this program knows {VERSION}: finish the import "
                    "with the newer program, or delete the journal to start again"
                )
            # Write the schema and its version only to a new journal. Writing them whenever a journal is opened would
            # cost a write to the disk for each file of an import.
            if version == 0:
                database.executescript(_SCHEMA)
            database.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.Error as exc:
            if getattr(exc, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise self._to_write_error(exc) from exc
            raise InvalidRequest(f"the journal {self.path} cannot be used ({exc}): delete it to start again") from exc
        return database

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the database in a transaction. Raises InvalidRequest if the disk is full, for example."""
        try:
            with self._database as database:
                yield database
        except sqlite3.Error as exc:
            raise self._to_write_error(exc) from exc

    def _to_write_error(self, error: sqlite3.Error) -> InvalidRequest:
        return InvalidRequest(
            f"the journal {self.path} cannot be written ({error}): free space on its disk, and run the command again; "
            "it continues the import"
        )

    def published(self, number: int, contents: str) -> Published | None:
        """Return the recorded batch with this number, or None if there is none.

        `contents` is the digest of the batch's records. If the recorded digest differs, the result is None, too.
        """
        row = self._database.execute(
            "SELECT request_ids, states IS NOT NULL, present FROM batches WHERE number = ? AND contents = ?",
            (number, contents),
        ).fetchone()
        if row is None:
            return None
        ids, is_finished, present = row
        return Published(_unpack(ids), bool(is_finished), frozenset(_unpack(present)))

    def record(
        self,
        number: int,
        contents: str,
        request_ids: Sequence[UUID],
        left_out: Mapping[str, int],
        updates: Sequence[PostImportUpdate],
        present: Collection[UUID] = (),
    ) -> None:
        """Record a batch before it is published.

        `request_ids` has an id for each record. Requests in `present` are not published, because their memories are
        stored already. `updates` are tags and successors to set after all memories of the import are stored.
        """
        batch = (number, contents, _pack(request_ids), json.dumps(dict(left_out)), _pack(present))
        tags = [None if update.tags is None else json.dumps(update.tags) for update in updates]
        later = [vars(update) | {"batch": number, "tags": text} for update, text in zip(updates, tags, strict=True)]
        with self._transaction() as database:
            database.execute(
                "INSERT OR REPLACE INTO batches (number, contents, request_ids, left_out, present)"
                " VALUES (?, ?, ?, ?, ?)",
                batch,
            )
            # Delete the rows of an earlier run in which the batch had other contents.
            database.execute("DELETE FROM failures WHERE batch = ?", (number,))
            database.execute("DELETE FROM later WHERE batch = ?", (number,))
            database.executemany(
                "INSERT INTO later (batch, content, source, successor, tags)"
                " VALUES (:batch, :content, :source, :successor, :tags)",
                later,
            )

    def finish_batch(
        self,
        number: int,
        states: Mapping[str, int],
        failures: Sequence[Failure] = (),
        stored: Sequence[tuple[str, UUID, bool]] = (),
    ) -> None:
        """Record that a batch is finished, with its number of outcomes in each state, and its failures.

        `stored` has the content hash and the id of each stored memory, and whether the memory is new.
        """
        with self._transaction() as database:
            database.execute("UPDATE batches SET states = ? WHERE number = ?", (json.dumps(dict(states)), number))
            database.executemany(
                "INSERT INTO failures (batch, source, error, record) VALUES (?, ?, ?, ?)",
                [(number, *failure) for failure in failures],
            )
            database.executemany(
                # Several records with equal content become one memory. Messages arrive in any order, so any of the
                # records may have created the memory.
                "INSERT INTO stored (content, memory_id, is_new) VALUES (?, ?, ?)"
                " ON CONFLICT (content) DO UPDATE SET is_new = max(is_new, excluded.is_new)",
                [(content, memory_id.bytes, is_new) for content, memory_id, is_new in stored],
            )

    def forget_batches(self, number: int) -> None:
        """Delete the recorded batches with this number or a higher one.

        An earlier run has recorded such batches if the source had more records at that time.
        """
        with self._transaction() as database:
            database.execute("DELETE FROM batches WHERE number >= ?", (number,))
            database.execute("DELETE FROM failures WHERE batch >= ?", (number,))
            database.execute("DELETE FROM later WHERE batch >= ?", (number,))

    def forget_update_failures(self) -> None:
        """Delete the failures from `add_update_failure`, because a resumed run records them again."""
        with self._transaction() as database:
            database.execute("DELETE FROM failures WHERE batch = -1")

    def add_update_failure(self, source: str, error: str) -> None:
        """Record that the tags or the successor (the replacing memory) of a stored memory could not be set."""
        with self._transaction() as database:
            database.execute("INSERT INTO failures (batch, source, error) VALUES (-1, ?, ?)", (source, error))

    def updates(self) -> Iterator[PostImportUpdate]:
        """Yield the changes of tags and successors that must be made after all memories are stored."""
        rows = self._database.execute("SELECT DISTINCT content, source, successor, tags FROM later")
        for content, source, successor, tags in rows:
            yield PostImportUpdate(content, source, successor, None if tags is None else tuple(json.loads(tags)))

    def stored(self, content: str) -> tuple[UUID, bool] | None:
        """Return the id of the memory with the content hash `content`, and whether this import has created it."""
        row = self._database.execute("SELECT memory_id, is_new FROM stored WHERE content = ?", (content,)).fetchone()
        return (UUID(bytes=row[0]), bool(row[1])) if row else None

    def totals(self) -> Totals:
        """Return the totals of all batches that are recorded so far."""
        totals = Totals()
        for states, left_out in self._database.execute("SELECT states, left_out FROM batches"):
            totals.states.update(json.loads(states or "{}"))
            totals.left_out.update(json.loads(left_out))
        totals.unchanged = totals.states.pop(UNCHANGED, 0)
        return totals

    def failures(self) -> Iterator[Failure]:
        """Yield the memories that were not stored, or that were stored with a problem."""
        yield from map(
            Failure._make, self._database.execute("SELECT source, error, record FROM failures ORDER BY rowid")
        )

    def close(self) -> None:
        """Close the journal's file and keep it, so that a later run can resume. The next use opens it again."""
        if database := self.__dict__.pop("_database", None):
            database.close()

    def finish(self) -> None:
        """Delete the journal's file, so that the next import of the same source starts from the beginning."""
        self.close()
        for name in (self.path.name, f"{self.path.name}-wal", f"{self.path.name}-shm"):
            (self.path.parent / name).unlink(missing_ok=True)
