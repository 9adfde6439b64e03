"""States of ingest requests in PostgreSQL."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import orjson

from mnemosyne.adapters.database import dead_letter_sql, ingest_sql
from mnemosyne.adapters.database.memory_database import NamespaceStore
from mnemosyne.adapters.database.rows import (
    deletions_json,
    json_text,
    read_outcomes,
    read_statuses,
    text_array,
    unstored_json,
    uuid_array,
)
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.memory import Deletion, FailedRequest, IngestStatus
from mnemosyne.domain.outcome import DeletedRecords, OutcomeCursor, OutcomePage
from mnemosyne.domain.plurals import quantity
from mnemosyne.errors import PartialChange, ServiceError, StatementTimeout

DELETED_AT_ONCE: Final = 1_000
"""Maximum number of memories that one transaction deletes when a publisher deletes records. Each statement
timeout reduces the number to a tenth."""

RECORDED_AT_ONCE: Final = 1_000
"""Maximum number of requests that one statement records as postponed, deleted or failed."""


class IngestRequests(NamespaceStore):
    """The methods of MemoryStore that record the states of ingest requests and return their outcomes."""

    def record_attempt(self, waiting: Sequence[FailedRequest]) -> None:
        """Record that an attempt to store these requests failed for a temporary reason."""
        self._record_unstored(waiting, "postponed")

    def record_deleted(self, requests: Sequence[FailedRequest]) -> None:
        """Record requests as deleted, because their memories expired or were forgotten before they were stored."""
        self._record_unstored(requests, "deleted")

    def record_failures(self, requests: Sequence[FailedRequest]) -> None:
        """Record that requests can never be stored. A request that is in a final state does not change."""
        self._record_unstored(requests, "failed")

    def _record_unstored(self, requests: Sequence[FailedRequest], event: str) -> None:
        for start in range(0, len(requests), RECORDED_AT_ONCE):
            recorded = unstored_json(requests[start : start + RECORDED_AT_ONCE])
            self._run(ingest_sql.RECORD_UNSTORED, requests=recorded, event=event)

    def delete_records(self, deletions: Sequence[Deletion]) -> DeletedRecords:
        """Carry out deletions of records, and return the recorded outcomes.

        A record is a text that a publisher has named by a source and key. Each new content or timestamp makes a new
        version. A deletion deletes each version whose timestamp is not later than the timestamp of the deletion, and
        each version that was published before the deletion. Each transaction deletes at most DELETED_AT_ONCE
        memories, and records the current action on them in the audit trail. Raises PartialChange if the database fails
        after the first of several transactions.
        """
        outcomes: dict[UUID, IngestStatus] = {}
        busy, conflicting = set[UUID](), set[UUID]()
        unfinished: dict[str, Mapping[str, Any]] = {}
        deleted, limit = 0, DELETED_AT_ONCE
        while remaining := [
            deletion for deletion in deletions if deletion.request_id not in {*outcomes, *busy, *conflicting}
        ]:
            try:
                results = self._delete_some(deletions_json(remaining, unfinished), limit)
            except ServiceError as exc:
                if isinstance(exc, StatementTimeout) and limit > 1:
                    limit //= 10
                    continue
                if not deleted:
                    raise
                change = f"{quantity(deleted, 'memory was', 'memories were')} deleted before this error"
                raise PartialChange(change, exc) from exc
            self.database.discard_quota(self.namespace)
            deleted += len(results["deleted"])
            outcomes |= read_outcomes(results["recorded"])
            unfinished = results.get("unfinished", {})
            busy.update(map(UUID, results["busy"]))
            conflicting.update(map(UUID, results["conflicting"]))
        return DeletedRecords(
            outcomes=outcomes, busy=frozenset(busy), conflicting=tuple(sorted(conflicting)), memories=deleted
        )

    def _delete_some(self, deletions: str, limit: int) -> Mapping[str, Any]:
        """Delete at most `limit` memories of records in one transaction, and return the answer of the SQL function."""
        with self._transaction() as connection:
            row = connection.one(ingest_sql.DELETE_RECORDS, namespace=self.namespace, deletions=deletions, limit=limit)
            results: Mapping[str, Any] = orjson.loads(row["answer"])
            if results["deleted"]:
                self._record_action(connection, results["deleted"])
        return results

    def statuses(self, request_ids: Sequence[UUID]) -> Mapping[UUID, IngestStatus]:
        """Return the status of each request. Requests without a recorded status are absent."""
        return read_statuses(self._run(ingest_sql.STATUSES, request_ids=uuid_array(request_ids)))

    def outcomes(self, limit: int, *, after: OutcomeCursor, source: str | None = None) -> OutcomePage:
        """Return a page of outcomes of ingest requests, in the order of the transactions that recorded them.

        With `source`, only the outcomes of this source are returned. Over all pages, each recorded outcome is returned
        exactly once, except an outcome that changes before its page is read. Then only the new outcome is returned, on
        a later page.
        """
        with self._transaction() as connection:
            if after.until is None:
                after = after.model_copy(update=connection.one(ingest_sql.OUTCOMES_BEGIN, since=after.since).by_name)
            between = {"namespace": self.namespace, "seen": after.seen, "until": after.until, "begin": after.begin}
            rows = connection.run(
                ingest_sql.OUTCOMES,
                **between,
                source=source,
                cursor_transaction=after.transaction,
                cursor_id=after.request_id,
                limit=limit,
            )
            is_last = len(rows) < limit
            dead_letters = connection.run(dead_letter_sql.UNREPORTED_DEAD_LETTERS, **between) if is_last else []
        last = {} if is_last else {"transaction": rows[-1]["changed_in"], "request_id": rows[-1]["request_id"]}
        return OutcomePage(
            outcomes=list(read_statuses(rows).values()),
            unreported=[DeadLetter(**row.by_name) for row in dead_letters],
            after=OutcomeCursor(seen=after.until) if is_last else after.model_copy(update=last),
        )

    def outcomes_of_keys(self, source: str, keys: Sequence[str]) -> Mapping[str, IngestStatus]:
        """Return, for each key, the status of the request that changed last. Keys without a request are absent."""
        rows = self._run(ingest_sql.KEYS, source=source, keys=text_array(keys))
        return {status.external_id.key: status for status in read_statuses(rows).values() if status.external_id}

    def unannounced_outcomes(self, request_ids: Sequence[UUID]) -> Sequence[IngestStatus]:
        """Return the statuses of the given requests whose outcomes are not yet published to the outcome topic."""
        return list(read_statuses(self._run(ingest_sql.UNANNOUNCED, request_ids=uuid_array(request_ids))).values())

    def mark_announced(self, announced: Sequence[IngestStatus]) -> None:
        """Record that these outcomes were published.

        If a request has changed since its outcome was read, its new outcome is not marked as published.
        """
        self._run(ingest_sql.MARK_ANNOUNCED, announced=json_text([*announced]))
