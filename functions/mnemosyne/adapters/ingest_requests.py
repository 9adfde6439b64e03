"""What became of ingest requests, and messages kept as dead letters, in PostgreSQL."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from uuid import UUID

from mnemosyne.adapters import ingest_sql
from mnemosyne.adapters.connections import Session
from mnemosyne.adapters.rows import letter_values, read_letters, read_statuses, told_json, unstored_json, uuid_array
from mnemosyne.domain.memory import DeadLetter, IngestState, IngestStatus, OutcomePosition, Unstored


class PostgresRequests:
    """The part of a MemoryStore on PostgreSQL that keeps ingest requests."""

    @abstractmethod
    def _transaction(self, namespace: str) -> AbstractContextManager[Session]:
        """A transaction that has named its namespace."""

    def record_attempt(self, namespace: str, waiting: Sequence[Unstored]) -> None:
        """Note that an attempt failed for a reason that may pass."""
        self._record(namespace, waiting, IngestState.QUEUED)

    def record_failures(self, namespace: str, failed: Sequence[Unstored]) -> None:
        """Note that the requests can never be stored; a request already in a final state keeps it."""
        self._record(namespace, failed, IngestState.FAILED)

    def _record(self, namespace: str, requests: Sequence[Unstored], state: IngestState) -> None:
        with self._transaction(namespace) as session:
            session.run(
                ingest_sql.RECORD_UNSTORED, namespace=namespace, requests=unstored_json(requests), state=state.value
            )

    def keep(self, namespace: str, letter: DeadLetter, *, unless: int | None = None) -> bool:
        """Keep a message as a dead letter, whatever its requests; whether it was not kept before.

        `unless` so many of the namespace's are kept already.
        """
        values = letter_values(letter) | {"cause": letter.cause, "unless": unless}
        with self._transaction(namespace) as session:
            return bool(session.run(ingest_sql.KEEP, namespace=namespace, **values))

    def bury(
        self, namespace: str, letter: DeadLetter, given_up: Sequence[Unstored], *, contents: Mapping[UUID, str]
    ) -> DeadLetter | None:
        """Keep a message that was given up and record it; as it is kept, None where it is not, or was before."""
        with self._transaction(namespace) as session:
            requests = unstored_json(given_up, contents)
            rows = session.run(ingest_sql.BURY, namespace=namespace, requests=requests, **letter_values(letter))
        return next(iter(read_letters(rows)), None)

    def dead_letters(self, namespace: str, limit: int, *, beyond: DeadLetter | None = None) -> Sequence[DeadLetter]:
        """Messages that are kept, oldest first, from beyond one on."""
        with self._transaction(namespace) as session:
            rows = session.run(
                ingest_sql.DEAD_LETTERS,
                namespace=namespace,
                limit=limit,
                beyond=beyond.dead_lettered_at if beyond else None,
                beyond_id=beyond.message_id if beyond else None,
            )
        return read_letters(rows)

    def lost_letters(self, namespace: str, since: datetime) -> Sequence[DeadLetter]:
        """Messages kept since then of which something has no other outcome, oldest first and without their data."""
        with self._transaction(namespace) as session:
            return read_letters(session.run(ingest_sql.LOST_LETTERS, namespace=namespace, since=since))

    def revive(self, namespace: str, request_ids: Sequence[UUID]) -> None:
        """Let requests that were given up wait again."""
        with self._transaction(namespace) as session:
            session.run(ingest_sql.REVIVE, namespace=namespace, request_ids=uuid_array(request_ids))

    def forget(self, namespace: str, message_id: str) -> None:
        """Drop a dead letter that has been put back."""
        with self._transaction(namespace) as session:
            session.run(ingest_sql.FORGET, namespace=namespace, message_id=message_id)

    def statuses(self, namespace: str, request_ids: Sequence[UUID]) -> Mapping[UUID, IngestStatus]:
        """What is known of each request; those not yet seen are absent."""
        with self._transaction(namespace) as session:
            rows = session.run(ingest_sql.STATUSES, namespace=namespace, request_ids=uuid_array(request_ids))
        return read_statuses(rows)

    def outcomes(
        self, namespace: str, limit: int, *, beyond: OutcomePosition, source: str | None = None
    ) -> Sequence[IngestStatus]:
        """Requests in a final state in the order they reached it, from beyond a position on."""
        with self._transaction(namespace) as session:
            rows = session.run(
                ingest_sql.OUTCOMES,
                namespace=namespace,
                source=source,
                beyond=beyond.updated_at,
                beyond_id=beyond.request_id,
                limit=limit,
            )
        return list(read_statuses(rows).values())

    def unannounced(self, namespace: str, request_ids: Sequence[UUID]) -> Sequence[IngestStatus]:
        """Those of the requests that are in a final state of which their publisher has not been told."""
        with self._transaction(namespace) as session:
            rows = session.run(ingest_sql.UNANNOUNCED, namespace=namespace, request_ids=uuid_array(request_ids))
        return list(read_statuses(rows).values())

    def record_announced(self, namespace: str, told: Sequence[IngestStatus]) -> None:
        """Note that the publisher has been told of these states, where they are still the requests'."""
        with self._transaction(namespace) as session:
            session.run(ingest_sql.RECORD_ANNOUNCED, namespace=namespace, told=told_json(told))
