"""The change feed in PostgreSQL: events about changes of memories.

The classes of this module change the settings of change feeds, read the events for clients that ask for them, and read
the events that must be published to a topic.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Final

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memory_database import NamespaceStore
from mnemosyne.adapters.database.owner_store import OwnerStore
from mnemosyne.adapters.database.statements import Row
from mnemosyne.domain.change_feed import EVENT_LIFETIME, ChangeCursor, ChangeEvent, ChangeFeed, ChangeKind, ChangePage
from mnemosyne.errors import ServiceError

REMOVED_AT_ONCE: Final = 10_000
"""Maximum number of old events that one transaction removes."""
CONTENT_BYTES: Final = 2_000_000
"""Size in bytes of the contents in a page of events. A page ends with the event that reaches this size."""
_LOCK_KEY: Final = 4_242_001
"""Key of the advisory lock of the process that publishes events."""

_LIST: Final = "SELECT namespace, enabled, contents FROM change_feeds ORDER BY namespace"
_SET: Final = """
INSERT INTO change_feeds (namespace, enabled, contents)
VALUES (:namespace, CAST(:enabled AS boolean), CAST(:contents AS boolean))
ON CONFLICT (namespace) DO UPDATE SET enabled = EXCLUDED.enabled, contents = EXCLUDED.contents
"""

# Begin a pass, which reads all events that became visible since the previous pass ended. `until` is the database
# snapshot at which the new pass ends. :seen is the snapshot at which the previous pass ended. The first pass begins
# :since seconds ago, or with the oldest event if :since is null. `sequence` is one less than the sequence number of the
# first event of the new pass: the first page of the pass has the events after `sequence`.
#
# An event of the new pass can have a lower sequence number than events of the previous pass, because transactions do
# not commit in the order of the sequence numbers. `+ 0` stops the planner from reading all events, from the oldest on,
# to find the lowest sequence number.
_BEGIN: Final = """
SELECT pass.until, pass.begin, coalesce(CASE
    WHEN CAST(:seen AS text) IS NOT NULL THEN (
        SELECT min(c.sequence + 0) FROM memory_changes c
        WHERE c.namespace = :namespace
            AND c.changed_in >= pg_snapshot_xmin(CAST(CAST(:seen AS text) AS pg_snapshot))
    )
    ELSE (
        SELECT min(c.sequence) FROM memory_changes c
        WHERE c.namespace = :namespace AND (pass.begin IS NULL OR c.at >= pass.begin)
    ) END - 1, CAST(9223372036854775807 AS bigint)) AS sequence
FROM (
    SELECT CAST(pg_current_snapshot() AS text) AS until,
        now() - make_interval(secs => CAST(:since AS double precision)) AS begin
) AS pass
"""

# Return one page of a pass, in the order of the sequence numbers. A pass reads, page by page, the events that became
# visible since the previous pass.
#
# The events of one memory are in order, within a pass and across passes. If two transactions change the same memory,
# the event of the second transaction gets the higher sequence number, and a snapshot that shows the second transaction
# also shows the first.
#
# Events restored from a dump of another server may have transaction ids that this server has not reached yet. No
# snapshot shows such events, so the first pass includes them explicitly.
_PAGE: Final = """
WITH page AS (
    SELECT c.sequence, c.memory_id, c.kind, c.fields, c.superseded_by, c.at
    FROM memory_changes c
    WHERE c.namespace = :namespace AND c.sequence > CAST(:sequence AS bigint)
        AND (CAST(:seen AS text) IS NULL
            OR NOT pg_visible_in_snapshot(c.changed_in, CAST(CAST(:seen AS text) AS pg_snapshot)))
        AND (pg_visible_in_snapshot(c.changed_in, CAST(CAST(:until AS text) AS pg_snapshot))
            OR (CAST(:seen AS text) IS NULL AND c.changed_in >= pg_snapshot_xmax(pg_current_snapshot())))
        AND (CAST(:begin AS timestamptz) IS NULL OR c.at >= CAST(:begin AS timestamptz))
    ORDER BY c.sequence
    LIMIT CAST(:limit AS integer)
), filled AS MATERIALIZED (
    SELECT page.*, event_contents(:namespace, page.memory_id) AS contents FROM page
)
SELECT sized.*
FROM (
    SELECT filled.*, count(*) OVER () AS found, coalesce(sum(octet_length(CAST(contents AS text)))
        OVER (ORDER BY sequence ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS earlier_bytes
    FROM filled
) AS sized
WHERE earlier_bytes < CAST(:bytes AS bigint)
ORDER BY sequence
"""
_IS_ON: Final = "SELECT has_change_feed(:namespace) AS is_on"

_LOCK: Final = "SELECT pg_try_advisory_lock(CAST(:key AS bigint)) AS locked"
_UNLOCK: Final = "SELECT pg_advisory_unlock(CAST(:key AS bigint))"
_UNANNOUNCED: Final = """
WITH filled AS MATERIALIZED (
    SELECT c.namespace, c.sequence, c.memory_id, c.kind, c.fields, c.superseded_by, c.at,
        event_contents(c.namespace, c.memory_id) AS contents
    FROM memory_changes c
    WHERE c.announced_at IS NULL
    ORDER BY c.sequence
    LIMIT CAST(:limit AS integer)
)
SELECT sized.*
FROM (
    SELECT filled.*, coalesce(sum(octet_length(CAST(contents AS text)))
        OVER (ORDER BY sequence ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS earlier_bytes
    FROM filled
) AS sized
WHERE earlier_bytes < CAST(:bytes AS bigint)
ORDER BY sequence
"""
_MARK: Final = """
UPDATE memory_changes SET announced_at = now() WHERE sequence = ANY (CAST(:sequences AS bigint[]))
"""
# Remove events that are older than :kept seconds. The statement reads only the :limit events with the lowest sequence
# numbers, which are the oldest events, so that it does not search the whole table.
_REMOVE: Final = """
WITH oldest AS MATERIALIZED (
    SELECT sequence, at FROM memory_changes ORDER BY sequence LIMIT CAST(:limit AS integer)
), removed AS (
    DELETE FROM memory_changes c USING oldest
    WHERE c.sequence = oldest.sequence AND oldest.at < now() - make_interval(secs => CAST(:kept AS double precision))
    RETURNING c.sequence
)
SELECT count(*) AS removed FROM removed
"""


class ChangeFeedReader(NamespaceStore):
    """The methods of MemoryStore that read the change feed (the events about changes of memories)."""

    def changes(self, limit: int, *, after: ChangeCursor) -> ChangePage:
        """Return events of the change feed after a cursor. A memory's events are in the order of its changes."""
        with self._transaction() as connection:
            if after.until is None:
                row = connection.one(_BEGIN, namespace=self.namespace, seen=after.seen, since=after.since)
                after = after.model_copy(update=row.by_name)
            rows = connection.run(
                _PAGE,
                namespace=self.namespace,
                seen=after.seen,
                until=after.until,
                begin=after.begin,
                sequence=after.sequence,
                limit=limit,
                bytes=CONTENT_BYTES,
            )
            is_on = connection.one(_IS_ON, namespace=self.namespace)["is_on"]
        is_last = not rows or len(rows) == rows[-1]["found"] < limit
        next_cursor = (
            ChangeCursor(seen=after.until) if is_last else after.model_copy(update={"sequence": rows[-1]["sequence"]})
        )
        return ChangePage(events=[_read_event(self.namespace, row) for row in rows], after=next_cursor, is_on=is_on)


class ChangeFeeds(OwnerStore):
    """Reads and changes the settings of change feeds, as the schema's owner.

    Also removes old events, and gives an Announcer to one process at a time. With the Announcer, the process reads the
    events to publish.
    """

    def every(self) -> Sequence[ChangeFeed]:
        """Return the settings of all namespaces, ordered by name.

        The setting of the namespace '' applies to all namespaces without their own setting.
        """
        return [ChangeFeed(**row.by_name) for row in self._run(_LIST)]

    def set(self, feed: ChangeFeed) -> None:
        """Change the settings of a namespace's change feed.

        Transactions that had already begun may still record their events according to the earlier settings.
        """
        self._run(_SET, **vars(feed))

    @contextmanager
    def announcer(self) -> Iterator["Announcer | None"]:
        """Yield an Announcer, with which the caller publishes events. Yield None if another process has one."""
        with closing(self._open()) as connection:
            if not connection.one(_LOCK, key=_LOCK_KEY)["locked"]:
                yield None
                return
            try:
                yield Announcer(connection)
            finally:
                # Release the lock now, so that the next process can take it. The end of the connection also releases
                # the lock, but the server may notice this end only after the next process has tried to take the lock.
                with suppress(ServiceError):
                    connection.run(_UNLOCK, key=_LOCK_KEY)

    def remove_old(self) -> int:
        """Remove a batch of events that are older than EVENT_LIFETIME, and return their number.

        The batch can contain events of any namespace.
        """
        return int(self._one(_REMOVE, limit=REMOVED_AT_ONCE, kept=EVENT_LIFETIME.total_seconds())["removed"])


class Announcer:
    """Reads unpublished events, and marks events as published. Only one process has an Announcer at a time."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def unannounced_events(self, limit: int) -> Sequence[ChangeEvent]:
        """Return unpublished events of all namespaces. The events of a memory are in the order of its changes."""
        rows = self._connection.run(_UNANNOUNCED, limit=limit, bytes=CONTENT_BYTES)
        return [_read_event(row["namespace"], row) for row in rows]

    def mark(self, events: Sequence[ChangeEvent]) -> None:
        """Mark events as published."""
        sequences = "{" + ",".join(str(event.sequence) for event in events) + "}"
        self._connection.run(_MARK, sequences=sequences)


def _read_event(namespace: str, row: Row) -> ChangeEvent:
    return ChangeEvent(
        namespace=namespace,
        sequence=row["sequence"],
        memory_id=row["memory_id"],
        kind=ChangeKind(row["kind"]),
        fields=tuple(row["fields"]),
        superseded_by=row["superseded_by"],
        at=row["at"],
        contents=row["contents"],
    )
