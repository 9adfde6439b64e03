"""Queries of the console: counts over time, tags, histories and requests."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from mnemosyne.adapters.database import console_queries_sql
from mnemosyne.adapters.database.memory_database import NamespaceStore
from mnemosyne.adapters.database.rows import (
    filters_json,
    json_text,
    read_listed,
    read_listed_request,
    read_summary,
    uuid_array,
)
from mnemosyne.domain.audit import EventCursor, ListedEvent
from mnemosyne.domain.chronicle import tag_key
from mnemosyne.domain.console_queries import (
    COUNTED_REQUESTS,
    FACETED_MEMORIES,
    HISTORY_LIMIT,
    SESSION_NEIGHBOURS,
    BucketLength,
    Facet,
    Facets,
    History,
    ListedRequest,
    PastRating,
    SessionNeighbours,
    Timeline,
)
from mnemosyne.domain.forgetting import Hold
from mnemosyne.domain.memory import Cursor, IngestState, MemorySummary
from mnemosyne.domain.search import Filters
from mnemosyne.domain.time.window import TimeWindow
from mnemosyne.domain.visible import one_line

_UUID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class ConsoleQueries(NamespaceStore):
    """The methods of MemoryStore with the queries of the console.

    The methods query memories, ingest requests and events of the audit trail.
    """

    def timeline(self, filters: Filters, per: BucketLength | None, timezone: str) -> Timeline:
        """Count the matching memories of each day, week, month or year.

        `filters` select the memories. A memory counts in the period that contains its timestamp. `per` is the length of
        a period. If `per` is None, the length depends on the time between the first and the last memory. Returns the
        newest 1,000 periods.
        """
        rows = self._call(
            console_queries_sql.TIMELINE,
            filters=filters_json(filters),
            per=per.value if per else None,
            timezone=timezone,
        )
        length = BucketLength(rows[0]["per"]) if rows else per or BucketLength.DAY
        return Timeline(per=length, buckets=[(row["start"], row["memories"]) for row in reversed(rows)])

    def facets(self, filters: Filters, limit: int, *, prefix: str = "") -> Facets:
        """Count the memories with each tag and of each session, among the memories that match the filters.

        Returns the `limit` most frequent tags that begin with `prefix`, and the `limit` latest sessions. Only the
        newest FACETED_MEMORIES matching memories are counted.
        """
        answer = self._call_one(
            console_queries_sql.FACETS,
            filters=filters_json(filters),
            prefix=tag_key(prefix),
            limit=limit,
            counted=FACETED_MEMORIES,
        )["facets"]
        return Facets(
            tags=[_read_facet(tag, tag["tag"]) for tag in answer["tags"]],
            total_tags=answer["total_tags"],
            sessions=[_read_facet(session, session["session"]) for session in answer["sessions"]],
            memories=answer["memories"],
            complete=answer["complete"],
        )

    def session_neighbours(self, memory_id: UUID) -> SessionNeighbours | None:
        """Return the memories before and after a memory in its session.

        Returns None if the memory does not exist or has no session.
        """
        rows = self._run(console_queries_sql.SESSION_NEIGHBOURS, id=memory_id, limit=SESSION_NEIGHBOURS)
        if not rows:
            return None
        return SessionNeighbours(
            count=rows[0]["count"],
            position=rows[0]["position"],
            before=[read_listed(row) for row in rows if row["step"] < 0],
            after=[read_listed(row) for row in rows if row["step"] > 0],
        )

    def hold(self, memory_id: UUID) -> Hold | None:
        """Return the legal hold that applies to a memory. If several holds apply, return the oldest hold.

        A memory with a legal hold cannot be deleted. Returns None if the memory does not exist or has no hold.
        """
        rows = self._run(console_queries_sql.HOLD, id=memory_id)
        return Hold(**rows[0].by_name) if rows else None

    def mark_words(self, query: str, texts: Sequence[Sequence[str]]) -> Sequence[Sequence[Sequence[str]]]:
        """Mark the words of memories that a search by words would match with the query.

        `texts` has a list of texts for each memory. The result has the same form, but each text is replaced by a list
        of marked copies of the text. There are up to three copies: the text itself, the text with words such as
        CamelCase split, and a copy in which only compounds are marked. A compound such as "Wi-Fi" is marked if it
        matches a word of the query, such as "wifi". A copy in which nothing is marked is left out, so the list of
        copies may be empty. `domain.matches` defines the characters that are put around a marked word.
        """
        return [*self._call_one(console_queries_sql.MARK_WORDS, query=query, memories=json_text(texts))["marked"]]

    def complete_word(self, start: str, filters: Filters, limit: int) -> Sequence[str]:
        """Find words that occur in memories and begin with `start`. The most frequent word is first.

        The words are in lower case and without accents. The method reads the title, the tags and the first 1,000
        characters of the content of at most 500 memories that match the filters.
        """
        values = {"filters": filters_json(filters), "start": start, "limit": limit}
        return [*self._call_one(console_queries_sql.COMPLETE_WORD, **values)["words"]]

    def with_content(self, content_hash: str) -> MemorySummary | None:
        """Return the memory with this content hash; None if it does not exist."""
        memories = self._run(console_queries_sql.SAME_CONTENT, content_hash=content_hash)
        return read_summary(memories[0]) if memories else None

    def history(self, memory_id: UUID) -> History | None:
        """Return the ratings of a memory, the memories that it superseded (replaced), and its successors.

        Returns None if the memory does not exist.
        """
        with self._transaction() as connection:
            selection: dict[str, Any] = {"namespace": self.namespace, "id": memory_id, "limit": HISTORY_LIMIT + 1}
            version_rows = connection.run(console_queries_sql.HISTORY, **selection)
            rating_rows = connection.run(console_queries_sql.RATINGS, **selection)
        if not version_rows:
            return None
        older = [read_listed(row) for row in version_rows if row["step"] < 0]
        newer = [read_listed(row) for row in version_rows if row["step"] > 0]
        ratings = [PastRating(**row.by_name) for row in rating_rows]
        lengths = {"supersedes": len(older), "superseded_by": len(newer), "ratings": len(ratings)}
        return History(
            supersedes=older[:HISTORY_LIMIT],
            superseded_by=newer[:HISTORY_LIMIT],
            ratings=ratings[:HISTORY_LIMIT],
            more=[name for name, length in lengths.items() if length > HISTORY_LIMIT],
        )

    def ingest_requests(
        self, state: IngestState | None, limit: int, *, after: Cursor | None = None
    ) -> Sequence[ListedRequest]:
        """Return ingest requests after a cursor, the latest change first.

        If `state` is given, only requests in this state are returned.
        """
        rows = self._run(
            console_queries_sql.REQUESTS,
            state=state.value if state else None,
            limit=limit,
            cursor_time=after.timestamp if after else None,
            cursor_id=after.id if after else None,
        )
        return list(map(read_listed_request, rows))

    def request_counts(self) -> Mapping[IngestState, int]:
        """Count the ingest requests by state, among the COUNTED_REQUESTS requests that changed last."""
        rows = self._run(console_queries_sql.REQUEST_COUNTS, counted=COUNTED_REQUESTS)
        return {IngestState(row["state"]): row["requests"] for row in rows}

    def audit_events(
        self,
        within: TimeWindow,
        person: str | None,
        action: str | None,
        limit: int,
        *,
        after: EventCursor | None = None,
    ) -> Sequence[ListedEvent]:
        """Return the namespace's events of the audit trail in a period, the latest first, after a cursor.

        `person` names the caller who caused the events: by principal, e-mail address, subject (user id at the identity
        provider) or name of an API key.
        """
        with self._transaction() as connection:
            events = connection.run(
                console_queries_sql.AUDIT_EVENTS,
                namespace=self.namespace,
                after=within.after,
                before=within.before,
                person=person,
                action=action,
                cursor_at=after.at if after else None,
                cursor_id=after.id if after else None,
                limit=limit,
            )
            ids = {id_ for row in events for id_ in row["ids"] if _UUID.fullmatch(id_)}
            existing_rows = connection.run(
                console_queries_sql.EXISTING_MEMORIES, namespace=self.namespace, ids=uuid_array(sorted(ids))
            )
        memories = {str(row["id"]): row["id"] for row in existing_rows}
        return [
            ListedEvent(**row.by_name, memories=[memories[id_] for id_ in row["ids"] if id_ in memories])
            for row in events
        ]


def _read_facet(row: Mapping[str, Any], name: str) -> Facet:
    return Facet(name=one_line(name), memories=row["memories"], last_used=datetime.fromisoformat(row["last_used"]))
