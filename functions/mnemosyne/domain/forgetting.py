"""Data types of a forgetting. Pure.

A forgetting is an operation that deletes selected memories permanently, and removes their texts from the database. A
dry run shows which memories a forgetting would delete. A legal hold keeps memories from being deleted.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from mnemosyne.domain.memory import Cursor, KeysetCursor
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.domain.search import EVERY_MEMORY, Filters
from mnemosyne.errors import InvalidRequest

IDS_AT_ONCE = 1_000
"""Maximum ids in a selection."""
BEGINNING = 80
"""Number of characters at the beginning of each memory's content that a dry run shows."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """A selection of memories of a namespace: by ids, by filters, or all.

    It also includes matching memories that searches hide because they are superseded (replaced) or expired.
    """

    ids: tuple[UUID, ...] = ()
    filters: Filters = EVERY_MEMORY

    @classmethod
    def of(cls, ids: Sequence[UUID] | None, filters: Filters, *, everything: bool) -> "Selection":
        """Build a selection from one of the arguments: ids, filters or everything.

        Raises InvalidRequest if none or several of them are set.
        """
        if sum((bool(ids), filters.has_condition, everything)) != 1:
            raise InvalidRequest("give either ids, or filters (tags, session, after, before, metadata), or all=true")
        return cls(ids=tuple(ids or ()), filters=replace(filters, include_superseded=True))


@dataclass(frozen=True, kw_only=True)
class Hold:
    """A legal hold, by its id and reason."""

    id: UUID
    reason: str


@dataclass(frozen=True, kw_only=True)
class PlacedHold(Hold):
    """A legal hold with all its fields."""

    namespace: str
    selection: Mapping[str, Any]
    placed_by: str
    placed_at: datetime


@dataclass(frozen=True, kw_only=True)
class SelectedMemory:
    """A memory that would be forgotten."""

    id: UUID
    timestamp: datetime
    beginning: str


@dataclass(frozen=True, kw_only=True)
class Preview:
    """The memories that a forgetting would delete.

    The token identifies this set of memories. A forgetting with the token is rejected if the set has changed since the
    preview.
    """

    token: str
    memories: int
    page: Sequence[SelectedMemory]
    holds: Sequence[Hold]
    """The legal holds on some of the memories. While one of the memories has a hold, none of them can be forgotten."""
    after: Cursor | None = None
    """Position of the last memory in `page`, after which the next page begins. None if there is no further page."""


@dataclass(frozen=True, kw_only=True)
class Forgetting:
    """A forgetting that has begun. It has ended when `finished_at` is set."""

    id: UUID
    namespace: str
    selection: Mapping[str, Any]
    requested_by: str
    started_at: datetime
    finished_at: datetime | None
    counts: Mapping[str, int]
    """Number of rows that the forgetting has removed or cleared, by table."""
    memories: int
    """Number of memories to delete, including those already deleted."""
    left: int
    """Number of memories that are not deleted yet."""
    letter: KeysetCursor | None = None
    """Position of the last dead letter in which the forgetting has looked for texts of the memories. The next step
    begins with the dead letter after it."""


@dataclass(frozen=True, kw_only=True)
class ForgettingEffects:
    """Effects of a namespace's forgettings on some ingest requests, and a summary of these forgettings.

    A request must not be stored if its memory was forgotten (permanently deleted).
    """

    covered: Collection[UUID] = ()
    """Ids of the requests whose memories were forgotten. Contents of these requests are not stored, not even in dead
    letters."""
    forgettings: int = 0
    """Number of forgettings that had begun in the namespace when this object was read. If the number is higher later,
    another forgetting has begun since."""
    latest: datetime | None = None
    """When the latest forgetting began."""
    all_before: datetime | None = None
    """When the latest forgetting of all memories began."""


VERSION: Final = 1
_REMAINS: Final = (
    (
        "messages in Pub/Sub, also delivered ones: seven days on the topic, then seven on a dead-letter topic",
        timedelta(days=14),
        "deleted by Pub/Sub",
    ),
    ("events in Pub/Sub, if the change feed publishes contents", timedelta(days=7), "deleted by Pub/Sub"),
    ("transaction logs of Cloud SQL, for restores to a point in time", timedelta(days=7), "deleted by Cloud SQL"),
    ("backups of Cloud SQL", timedelta(days=14), "the last of 14 daily backups is deleted"),
)
"""Places where copies may remain after a forgetting. Each entry has the place, the longest time for which copies remain
there, and how they are deleted afterwards. The times are set in database.tf and pubsub.tf in
terraform/modules/mnemosyne."""
_NOT_REMOVED: Final = (
    "ids of requests and memories, and SHA-256 hashes of contents, in ingest_requests and forgotten_memories, so that "
    "no message stores the memories again; source and key of records in ingest_requests",
    "hashes of frequent words in namespace_words, until the statistics are computed again",
    "ids and counts in the audit trail, and ids in logs, without contents",
    "removed rows in unused space of the database's pages, which no query reads, until the space is used again",
    "files and journals of `mnemosyne import` and of exports, which are with their users, and objects in buckets",
    "on a local system instead of Cloud SQL: the files of PostgreSQL's pg_wal, until PostgreSQL uses them again",
)
"""Data about forgotten memories that a forgetting does not remove."""


def receipt_of(forgetting: Forgetting, ids_sha256: str) -> dict[str, Any]:
    """Build the receipt of a finished forgetting as JSON.

    The receipt has the number of rows that were removed from each table. It lists the places where copies remain for
    a limited time, each with the end of this time, and the copies that a forgetting never removes.

    `ids_sha256` is the SHA-256 of the ids of the forgotten memories in order, each followed by a line feed.
    """
    finished = forgetting.finished_at or forgetting.started_at
    return {
        "version": VERSION,
        "forgetting": str(forgetting.id),
        "namespace": forgetting.namespace,
        "selection": dict(forgetting.selection),
        "requested_by": forgetting.requested_by,
        "started_at": rfc3339(forgetting.started_at),
        "finished_at": rfc3339(finished),
        "memories": forgetting.memories,
        "ids_sha256": ids_sha256,
        "removed": dict(forgetting.counts),
        "remains": [
            {"where": where, "until": rfc3339(finished + span), "then": then} for where, span, then in _REMAINS
        ],
        "kept": list(_NOT_REMOVED),
    }
