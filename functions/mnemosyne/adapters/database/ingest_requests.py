"""What became of ingest requests, and messages kept as dead letters, in PostgreSQL."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Final
from uuid import UUID

import orjson

from mnemosyne.adapters.database import dead_letter_sql, ingest_sql
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.rows import (
    announced_json,
    dead_letter_values,
    deletions_json,
    read_dead_letter,
    read_outcomes,
    read_statuses,
    unstored_json,
    uuid_array,
)
from mnemosyne.domain.memory import DeadLetter, Deletion, IngestStatus, OutcomeCursor, Unstored

DELETED_AT_ONCE: Final = 1_000
"""Memories that one transaction deletes by key, at most."""


class PostgresRequests:
    """The part of a MemoryStore on PostgreSQL that keeps ingest requests."""

    @abstractmethod
    def _transaction(self, namespace: str) -> AbstractContextManager[Connection]:
        """Return a transaction that has named its namespace."""

    def record_attempt(self, namespace: str, waiting: Sequence[Unstored]) -> None:
        """Note that an attempt failed for a reason that may pass."""
        self._record(namespace, waiting, "postponed")

    def record_failures(self, namespace: str, failed: Sequence[Unstored]) -> None:
        """Note that the requests can never be stored; a request already in a final state keeps it."""
        self._record(namespace, failed, "failed")

    def _record(self, namespace: str, requests: Sequence[Unstored], event: str) -> None:
        with self._transaction(namespace) as connection:
            connection.run(
                ingest_sql.RECORD_UNSTORED, namespace=namespace, requests=unstored_json(requests), event=event
            )

    def delete_records(self, namespace: str, deletions: Sequence[Deletion]) -> Mapping[UUID, IngestStatus]:
        """Delete records by key, in transactions of bounded length, and return the outcomes."""
        outcomes: dict[UUID, IngestStatus] = {}
        while rest := [one for one in deletions if one.request_id not in outcomes]:
            with self._transaction(namespace) as connection:
                recorded = connection.one(
                    ingest_sql.DELETE_RECORDS,
                    namespace=namespace,
                    deletions=deletions_json(rest),
                    limit=DELETED_AT_ONCE,
                )["recorded"]
            outcomes |= read_outcomes(orjson.loads(recorded))
        return outcomes

    def store_dead_letter(self, namespace: str, dead_letter: DeadLetter, *, unless: int | None = None) -> bool:
        """Store a message as a dead letter, whatever its requests; whether it was not stored before.

        `unless` so many of the namespace's are stored already.
        """
        values = dead_letter_values(dead_letter) | {"cause": dead_letter.cause, "unless": unless}
        with self._transaction(namespace) as connection:
            return bool(connection.run(dead_letter_sql.STORE_DEAD_LETTER, namespace=namespace, **values))

    def give_up(
        self, namespace: str, dead_letter: DeadLetter, waiting: Sequence[Unstored], *, contents: Mapping[UUID, str]
    ) -> DeadLetter | None:
        """Record the requests of a message as dead-lettered, and store it; as stored, None where it is not."""
        with self._transaction(namespace) as connection:
            stored = connection.run(
                dead_letter_sql.GIVE_UP,
                namespace=namespace,
                requests=unstored_json(waiting, contents),
                **dead_letter_values(dead_letter),
            )
        return next(map(read_dead_letter, stored), None)

    def dead_letters(self, namespace: str, limit: int, *, after: DeadLetter | None = None) -> Sequence[DeadLetter]:
        """List dead letters, oldest first, after one of them."""
        with self._transaction(namespace) as connection:
            found = connection.run(
                dead_letter_sql.DEAD_LETTERS,
                namespace=namespace,
                limit=limit,
                cursor_time=after.dead_lettered_at if after else None,
                cursor_id=after.message_id if after else None,
            )
        return list(map(read_dead_letter, found))

    def lost_dead_letters(self, namespace: str, since: datetime) -> Sequence[DeadLetter]:
        """List those stored since then of which something has no other outcome, oldest first and without their data."""
        with self._transaction(namespace) as connection:
            found = connection.run(dead_letter_sql.LOST_DEAD_LETTERS, namespace=namespace, since=since)
        return list(map(read_dead_letter, found))

    def mark_queued(self, namespace: str, request_ids: Sequence[UUID]) -> None:
        """Let requests that were dead-lettered wait again."""
        with self._transaction(namespace) as connection:
            connection.run(dead_letter_sql.MARK_QUEUED, namespace=namespace, request_ids=uuid_array(request_ids))

    def delete_dead_letter(self, namespace: str, message_id: str) -> None:
        """Delete a dead letter that has been put back on the queue."""
        with self._transaction(namespace) as connection:
            connection.run(dead_letter_sql.DELETE_DEAD_LETTER, namespace=namespace, message_id=message_id)

    def statuses(self, namespace: str, request_ids: Sequence[UUID]) -> Mapping[UUID, IngestStatus]:
        """Return what is known of each request; those not yet seen are absent."""
        with self._transaction(namespace) as connection:
            rows = connection.run(ingest_sql.STATUSES, namespace=namespace, request_ids=uuid_array(request_ids))
        return read_statuses(rows)

    def outcomes(
        self, namespace: str, limit: int, *, after: OutcomeCursor, source: str | None = None
    ) -> Sequence[IngestStatus]:
        """Return requests in a final state in the order they reached it, after a cursor."""
        with self._transaction(namespace) as connection:
            rows = connection.run(
                ingest_sql.OUTCOMES,
                namespace=namespace,
                source=source,
                cursor_time=after.updated_at,
                cursor_id=after.request_id,
                limit=limit,
            )
        return list(read_statuses(rows).values())

    def unannounced(self, namespace: str, request_ids: Sequence[UUID]) -> Sequence[IngestStatus]:
        """Those of the requests that are in a final state of which their publisher has not been told."""
        with self._transaction(namespace) as connection:
            rows = connection.run(ingest_sql.UNANNOUNCED, namespace=namespace, request_ids=uuid_array(request_ids))
        return list(read_statuses(rows).values())

    def mark_announced(self, namespace: str, announced: Sequence[IngestStatus]) -> None:
        """Note that the publisher has been told of these states, where they are still the requests'."""
        with self._transaction(namespace) as connection:
            connection.run(ingest_sql.MARK_ANNOUNCED, namespace=namespace, announced=announced_json(announced))
