"""Small stand-ins for the ports, for tests of pure logic. The contract suite holds them to what the real ones do."""

import json
import operator
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any
from uuid import UUID

import numpy as np

from mnemosyne.domain.chronicle import tag_key, title_of
from mnemosyne.domain.chunking import ChunkLimit
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.labels import given_labels
from mnemosyne.domain.memory import (
    EXPORT_BYTES,
    Cursor,
    DeadLetter,
    DeletedMemory,
    Deletion,
    ExportedMemory,
    IngestRequest,
    IngestState,
    IngestStatus,
    KeysetCursor,
    Memory,
    MemoryChange,
    MemorySummary,
    Rating,
    Reading,
    Stats,
    Unstored,
)
from mnemosyne.domain.message import decode, encode
from mnemosyne.domain.metadata_filter import MetadataCondition, Operator, is_number, texts_of
from mnemosyne.domain.outcome import Outcome, OutcomeCursor, OutcomePage
from mnemosyne.domain.overview import GivenRating
from mnemosyne.domain.published import Published
from mnemosyne.domain.quota import Quota
from mnemosyne.domain.search import Filters, Hit, Ranking, SearchMode, SearchQuery, TagMatch, Why
from mnemosyne.domain.wording import wording_id
from mnemosyne.errors import Conflict, EmbeddingModelChanged, MnemosyneError, NotFound, Unavailable
from mnemosyne.ids import new_id
from mnemosyne.observability import current_trace
from mnemosyne.ports import Vector
from tests import oracle
from tests.fakes_dead_letters import FakeDeadLetters, Requests
from tests.fakes_overview import FakeOverview

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
FAKE_SPACE = EmbeddingSpace("fake", "fake", 64)


class FakeEmbedder:
    """Each word is a direction: texts that share words are near."""

    model = FAKE_SPACE.model
    dimension = FAKE_SPACE.dimension
    chunk_limit = ChunkLimit(characters=200)
    lexical_weight = 0.5

    def __init__(self) -> None:
        self.embedded: list[str] = []
        self.away = False
        self.fault: MnemosyneError | None = None
        """Error of every call."""

    def for_namespace(self, namespace: str) -> "FakeEmbedder":
        return self

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self._fail()
        self.embedded += texts
        return [self._embed(text) for text in texts]

    def embed_query(self, text: str) -> Vector:
        self._fail()
        return self._embed(text)

    def _fail(self) -> None:
        if self.away:
            raise Unavailable("the embedder is away")
        if self.fault:
            raise self.fault

    def _embed(self, text: str) -> Vector:
        vector = np.zeros(self.dimension, dtype=np.float32)
        for word in text.casefold().split():
            vector[sum(word.strip(".,?!").encode()) % self.dimension] += 1.0
        return np.asarray(vector / (np.linalg.norm(vector) or 1.0), dtype=np.float32)


class FakeReranker:
    """What has the most of the text that it is told to prefer comes first."""

    def __init__(self, preferred: str) -> None:
        self.preferred = preferred
        self.read: list[str] = []
        self.away = False

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        if self.away:
            raise Unavailable("the reranker is away")
        self.read += texts
        return [1.0 if self.preferred in text else 0.1 for text in texts]

    def check(self) -> str:
        return "prefers"


class FakeQueue:
    """Keeps what is published, as it would lie on the topic."""

    def __init__(self) -> None:
        self.messages: list[tuple[bytes, Mapping[str, str]]] = []
        self.away = False

    @property
    def published(self) -> list[tuple[str, tuple[IngestRequest, ...]]]:
        """Namespace and requests of each message."""
        read = (
            decode(Published(message_id="", data=data, attributes=attributes)) for data, attributes in self.messages
        )
        return [(message.namespace, message.requests) for message in read]

    def publish(self, namespace: str, readings: Sequence[Reading]) -> None:
        here = current_trace()
        self.republish(*encode(namespace, readings, here.traceparent if here else ""))

    def check(self) -> str:
        if self.away:
            raise Unavailable("the queue is away")
        return "in memory"

    def republish(self, data: bytes, attributes: Mapping[str, str]) -> None:
        if self.away:
            raise Unavailable("the queue is away: nothing was stored")
        self.messages.append((data, attributes))


class FakeOutcomes:
    """An OutcomeTopic in a list."""

    def __init__(self) -> None:
        self.told: list[Outcome] = []
        self.away = False

    def publish(self, outcomes: Sequence[Outcome]) -> None:
        if self.away:
            raise Unavailable("the topic did not accept a message")
        self.told += outcomes


class FakeClaim:
    """A claim on a FakeStore."""

    def __init__(self, store: "FakeStore", namespace: str, requests: Sequence[IngestRequest]) -> None:
        self._store, self._namespace = store, namespace
        self.busy: list[IngestRequest] = [r for r in requests if (namespace, r.content_hash) in store.locked]
        self.already_final: dict[UUID, IngestStatus] = {}
        self.new: list[IngestRequest] = []
        self.conflicting: list[UUID] = []
        for request in requests:
            known = store.requests.get((namespace, request.request_id))
            if request in self.busy:
                continue
            if known and known.state in (IngestState.STORED, IngestState.DUPLICATE, IngestState.DELETED):
                self.already_final[request.request_id] = known
                if store.contents.get((namespace, request.request_id)) != request.content_hash:
                    self.conflicting.append(request.request_id)
            elif (found := store.by_hash(namespace, request.content_hash)) is not None:
                note = _duplicate_note(found, request)
                self.already_final[request.request_id] = self._record(request, IngestState.DUPLICATE, found.id, note)
            else:
                self.new.append(request)

    def _record(
        self, request: IngestRequest, state: IngestState, memory_id: UUID, note: str | None = None
    ) -> IngestStatus:
        key = (self._namespace, request.request_id)
        self._store.announced.discard(key)
        self._store.contents[key] = request.content_hash
        attempts = self._store.requests[key].attempts if key in self._store.requests else 0
        status = IngestStatus(
            request_id=request.request_id,
            state=state,
            memory_id=memory_id,
            attempts=attempts + 1,
            note=note,
            updated_at=NOW,
            origin=request.origin,
        )
        self._store.requests[key] = status
        return status

    @property
    def quota(self) -> Quota:
        return self._store.quota(self._namespace)

    def store(
        self, fitting: Sequence[IngestRequest], embeddings: Sequence[Sequence[Vector]], model: str
    ) -> Mapping[UUID, IngestStatus]:
        outcomes = {}
        for request, vectors in zip(fitting, embeddings, strict=True):
            found = self._store.by_hash(self._namespace, request.content_hash)
            state = IngestState.DUPLICATE if found else IngestState.STORED
            memory = found or Memory(
                id=new_id(),
                **request.said,
                content_hash=request.content_hash,
                embedding_model=model,
                created_at=NOW,
                last_seen_at=NOW,
            )
            self._store.memories[memory.id] = (self._namespace, memory, vectors)
            note = _duplicate_note(found, request) if found else None
            outcomes[request.request_id] = self._record(request, state, memory.id, note)
        return outcomes


def _duplicate_note(found: Memory, request: IngestRequest) -> str | None:
    superseded = f"the memory is superseded by {found.superseded_by}" if found.superseded_by else ""
    differing = ", ".join(n for n, value in sorted(given_labels(request).items()) if getattr(found, n) != value)
    not_taken = f"not taken, because the memory has another one: {differing}" if differing else ""
    return "; ".join(filter(None, [superseded, not_taken])) or None


class FakeStore(FakeDeadLetters, FakeOverview):
    """The MemoryStore in dictionaries."""

    def __init__(self) -> None:
        self.memories: dict[UUID, tuple[str, Memory, Sequence[Vector]]] = {}
        self.ratings_of: dict[UUID, tuple[int, int]] = {}
        self.requests = Requests()
        self.locked: set[tuple[str, str]] = set()
        self.announced: set[tuple[str, UUID]] = set()
        self.contents: dict[tuple[str, UUID], str] = {}
        self.stored_dead_letters: dict[tuple[str, str], DeadLetter] = {}
        self.letter_changes: dict[tuple[str, str], int] = {}
        self.ratings: list[tuple[UUID, GivenRating]] = []
        self.embedding_space = FAKE_SPACE
        self.limits = Quota()

    def by_hash(self, namespace: str, content_hash: str) -> Memory | None:
        found = (m for n, m, _ in self.memories.values() if (n, m.content_hash) == (namespace, content_hash))
        return next(found, None)

    @contextmanager
    def claim(self, namespace: str, requests: Sequence[IngestRequest]) -> Iterator[FakeClaim]:
        hashes = {(namespace, r.content_hash) for r in requests} - self.locked
        claim = FakeClaim(self, namespace, requests)
        self.locked |= hashes
        try:
            yield claim
        finally:
            self.locked -= hashes

    def record_attempt(self, namespace: str, waiting: Sequence[Unstored]) -> None:
        self._record(namespace, waiting, IngestState.QUEUED)

    def record_failures(self, namespace: str, failed: Sequence[Unstored]) -> None:
        self._record(namespace, failed, IngestState.FAILED)

    def _record(self, namespace: str, requests: Sequence[Unstored], state: IngestState) -> None:
        for one in requests:
            known = self.requests.get((namespace, one.request_id))
            if known and known.state not in (IngestState.QUEUED, state):
                continue
            if known is None or known.error != one.error:
                self.announced.discard((namespace, one.request_id))
            self.requests[namespace, one.request_id] = IngestStatus(
                request_id=one.request_id,
                state=state,
                attempts=(known.attempts if known else 0) + 1,
                error=one.error,
                updated_at=NOW + timedelta(microseconds=known.attempts if known else 0),
                origin=one.origin,
            )

    def statuses(self, namespace: str, request_ids: Sequence[UUID]) -> Mapping[UUID, IngestStatus]:
        known = {i: self._shown(namespace, i) for i in request_ids if (namespace, i) in self.requests}
        error = "this is the id of a memory, not of a request: get_memory reads it"
        for i in request_ids:
            if self._get(namespace, i):
                known[i] = IngestStatus(request_id=i, state=IngestState.UNKNOWN, memory_id=i, error=error)
        return known

    def _shown(self, namespace: str, request_id: UUID) -> IngestStatus:
        status = self.requests[namespace, request_id]
        if (redriven_at := self.requests.redriven_at.get((namespace, request_id))) and (
            self.time - redriven_at >= timedelta(hours=24)
        ):
            return replace(status, state=IngestState.DEAD_LETTERED)
        if status.state not in (IngestState.STORED, IngestState.DUPLICATE) or status.memory_id in self.memories:
            return status
        error = "its memory was deleted later: ingest it again with a later timestamp to store it"
        return replace(status, state=IngestState.DELETED, error=error)

    def outcomes(self, namespace: str, limit: int, *, after: OutcomeCursor, source: str | None = None) -> OutcomePage:
        until = int(after.until or self.requests.changes)
        begin = after.begin or (None if after.since is None else self.time - after.since)
        changed = sorted(
            (change, one)
            for (n, one), change in self.requests.changed_in.items()
            if n == namespace and max(int(after.seen or 0), int(after.transaction)) < change <= until
        )
        ended = [(change, self._shown(namespace, one)) for change, one in changed]
        shown = [
            (change, one)
            for change, one in ended
            if one.state is not IngestState.QUEUED
            and source in (None, _source(one))
            and (begin is None or (one.updated_at or NOW) >= begin)
        ]
        if len(shown) >= limit:
            onward = replace(after, until=str(until), begin=begin, transaction=str(shown[limit - 1][0]))
            return OutcomePage(outcomes=[one for _, one in shown[:limit]], lost=(), after=onward)
        lost = self._lost_letters(namespace, int(after.seen or 0), until, begin)
        return OutcomePage(outcomes=[one for _, one in shown], lost=lost, after=OutcomeCursor(seen=str(until)))

    def outcomes_of_keys(self, namespace: str, source: str, keys: Sequence[str]) -> Mapping[str, IngestStatus]:
        changed = sorted(self.requests.changed_in.items(), key=lambda item: item[1])
        mine = [self.requests[name] for name, _ in changed if name[0] == namespace]
        named = {one.origin: one for one in mine if one.origin}
        of_keys = {origin.key: one for origin, one in named.items() if origin.source == source and origin.key in keys}
        return {key: self._shown(namespace, one.request_id) for key, one in of_keys.items()}

    def unannounced(self, namespace: str, request_ids: Sequence[UUID]) -> Sequence[IngestStatus]:
        known = [self.requests[namespace, i] for i in request_ids if (namespace, i) in self.requests]
        return [
            one
            for one in known
            if one.state is not IngestState.QUEUED and (namespace, one.request_id) not in self.announced
        ]

    def mark_announced(self, namespace: str, announced: Sequence[IngestStatus]) -> None:
        current = (one for one in announced if self.requests.get((namespace, one.request_id)) == one)
        self.announced |= {(namespace, one.request_id) for one in current}

    def search(
        self, namespace: str, query: SearchQuery, vector: Vector | None, *, model: str, lexical_weight: float
    ) -> Ranking:
        if vector is not None and model != self.embedding_space.model:
            raise EmbeddingModelChanged(f"the memories are no more in the space of {model}")
        found = {str(m.id): (m, vectors) for n, m, vectors in self.memories.values() if n == namespace}
        found = {name: one for name, one in found.items() if _passes(one[0], query.filters)}
        asked = query.query or ""
        relevance: dict[str, float | None] = dict.fromkeys(found)
        if asked and query.mode is SearchMode.EXACT:
            relevance = {name: 1.0 for name, (m, _) in found.items() if _literal(asked) in _literal(m.content)}
        elif asked and found:
            nearness = {
                name: 0.0 if vector is None else max(float(v @ vector) for v in vectors)
                for name, (_, vectors) in found.items()
            }
            words = {name: _words_in_common(asked, m) for name, (m, _) in found.items()}
            if query.mode is SearchMode.HYBRID or vector is None:
                relevance = {**oracle.fused(nearness, words, 1.0 if vector is None else lexical_weight)}
                if vector is not None:
                    related = _related(found, relevance, query)
                    first = {name: vectors[0] for name, (_, vectors) in found.items()}
                    members = [name for name, (m, _) in found.items() if m.session is not None]
                    relevance = {**oracle.diversified(related, first, [members])}
            else:
                relevance = {name: max(0.0, one) for name, one in nearness.items()}
        hits = [
            _hit(found[name][0], one, oracle.score(one or 0.0, found[name][0].quality, query.quality_weight))
            for name, one in relevance.items()
        ]
        hits.sort(key=lambda hit: (hit.score, hit.timestamp, hit.id), reverse=True)
        if asked and query.mode is not SearchMode.EXACT:
            hits = _folded(hits)
        chosen = [replace(hit, why=_why(hit, query)) if query.explain else hit for hit in hits[: query.limit]]
        chosen = [replace(hit, supersedes=self._earlier(hit.id)) for hit in chosen]
        return Ranking(hits=_cut(chosen, query.characters, query.query), strategy="exact", considered=len(hits))

    def rerank(self, namespace: str, query: SearchQuery, relevances: Mapping[UUID, float]) -> Ranking:
        found = {one: memory for one in relevances if (memory := self._get(namespace, one))}
        hits = [
            _hit(memory, relevances[one], oracle.score(relevances[one], memory.quality, query.quality_weight))
            for one, memory in found.items()
        ]
        hits.sort(key=lambda hit: hit.score, reverse=True)
        return Ranking(
            hits=_cut(hits[: query.limit], query.characters, query.query), strategy="reranked", considered=len(hits)
        )

    def fetch(self, namespace: str, memory_id: UUID) -> Memory | None:
        memory = self._get(namespace, memory_id)
        return replace(memory, supersedes=self._earlier(memory_id)) if memory else None

    def _earlier(self, memory_id: UUID) -> tuple[UUID, ...]:
        """What it has superseded, directly or through others, nearest first."""
        found, latest = [], [memory_id]
        while latest:
            latest = sorted(m.id for _, m, _ in self.memories.values() if m.superseded_by in latest)
            found += latest
        return tuple(found[:5])

    def quota(self, namespace: str) -> Quota:
        mine = [m for n, m, _ in self.memories.values() if n == namespace]
        sizes = (len(m.content.encode()) + len(m.title.encode()) for m in mine)
        return replace(self.limits, memories=len(mine), bytes=sum(sizes), texts_today=len(mine))

    def known_quota(self, namespace: str) -> Quota | None:
        return self.quota(namespace)

    def _get(self, namespace: str, memory_id: UUID) -> Memory | None:
        found = self.memories.get(memory_id)
        return found[1] if found and found[0] == namespace else None

    def _keep(self, memory: Memory) -> Memory:
        namespace, _, vectors = self.memories[memory.id]
        self.memories[memory.id] = (namespace, memory, vectors)
        return memory

    def _rated(self, memory: Memory, rating: int) -> Memory:
        count, total = self.ratings_of.get(memory.id, (0, 0))
        self.ratings_of[memory.id] = (count + 1, total + rating)
        return self._keep(replace(memory, quality=oracle.quality(count + 1, total + rating)))

    def list(
        self, namespace: str, filters: Filters, limit: int, *, after: Cursor | None = None
    ) -> Sequence[MemorySummary]:
        heads = [_summary(m) for n, m, _ in self.memories.values() if n == namespace and _passes(m, filters)]
        if after:
            heads = [head for head in heads if (head.timestamp, head.id) < (after.timestamp, after.id)]
        return sorted(heads, key=lambda head: (head.timestamp, head.id), reverse=True)[:limit]

    def update(self, namespace: str, memory_id: UUID, change: MemoryChange) -> Memory | None:
        memory, successor = self._get(namespace, memory_id), change.superseded_by
        while successor is not None:
            if successor == memory_id:
                raise Conflict("a circle would hide both")
            if (next_one := self._get(namespace, successor)) is None:
                if successor != change.superseded_by:
                    break
                raise NotFound(f"superseded_by must be the id of a memory, and no memory has the id {successor}")
            successor = next_one.superseded_by
        if memory is None:
            return None
        return self._keep(
            replace(
                memory,
                title=memory.title if change.title is None else change.title,
                tags=memory.tags if change.tags is None else change.tags,
                metadata=memory.metadata if change.metadata is None else change.metadata,
                superseded_by=None if change.not_superseded else change.superseded_by or memory.superseded_by,
            )
        )

    def rate(self, namespace: str, memory_id: UUID, rating: int, reason: str | None) -> Rating | None:
        memory = self._get(namespace, memory_id)
        if memory:
            self.ratings.append((memory_id, GivenRating(rating=rating, reason=reason, rated_at=NOW)))
        return Rating(before=memory.quality, after=self._rated(memory, rating).quality) if memory else None

    def export(self, namespace: str, limit: int, *, after: KeysetCursor | None = None) -> Sequence[ExportedMemory]:
        mine = sorted((m for n, m, _ in self.memories.values() if n == namespace), key=_export_key)
        successors = {m.id: m.content_hash for m in mine}
        exported = [
            ExportedMemory(
                id=m.id,
                **m.said,
                content_hash=m.content_hash,
                superseded_by_hash=successors[m.superseded_by] if m.superseded_by else None,
                created_at=m.created_at,
            )
            for m in mine
        ]
        page = [e for e in exported if after is None or _export_key(e) > (after.timestamp, after.key)][:limit]
        ends = accumulate((len(e.content.encode()) for e in page), initial=0)
        return [e for e, before in zip(page, ends, strict=False) if before < EXPORT_BYTES]

    def stats(self, namespace: str) -> Stats:
        mine = [m for n, m, _ in self.memories.values() if n == namespace]
        states = [self._shown(namespace, one).state for n, one in self.requests if n == namespace]
        tags = Counter(tag_key(tag) for m in mine for tag in m.tags)
        return Stats(
            quota=self.quota(namespace),
            memories=len(mine),
            tags=dict(tags.most_common(20)),
            pending=states.count(IngestState.QUEUED),
            dead_lettered=states.count(IngestState.DEAD_LETTERED),
            dead_letters=sum(n == namespace for n, _ in self.stored_dead_letters),
            oldest=min((m.timestamp for m in mine), default=None),
            newest=max((m.timestamp for m in mine), default=None),
            storage_bytes=sum(len(m.content) for m in mine),
        )

    def similar(self, namespace: str, memory_id: UUID) -> Sequence[MemorySummary]:
        one = self._get(namespace, memory_id)
        others = [m for n, m, _ in self.memories.values() if one and n == namespace and m.superseded_by is None]
        return [_summary(m) for m in others if one and m.id != one.id and _words(m.content) == _words(one.content)][:3]

    def delete(self, namespace: str, memory_id: UUID) -> DeletedMemory | None:
        memory = self._get(namespace, memory_id)
        if memory is None:
            return None
        older = [m for n, m, _ in list(self.memories.values()) if n == namespace and m.superseded_by == memory_id]
        if memory.superseded_by:
            older = [one for one in older if not self._keep(replace(one, superseded_by=memory.superseded_by))]
        del self.memories[memory_id]
        return DeletedMemory(title=memory.title, superseded=tuple(one.id for one in older))

    def delete_records(self, namespace: str, deletions: Sequence[Deletion]) -> Mapping[UUID, IngestStatus]:
        outcomes = {}
        for one in deletions:
            versions = [
                status for (n, _), status in self.requests.items() if (n, status.origin) == (namespace, one.origin)
            ]
            for status in versions:
                if status.memory_id:
                    self.memories.pop(status.memory_id, None)
            outcomes[one.request_id] = self.requests[namespace, one.request_id] = IngestStatus(
                request_id=one.request_id,
                state=IngestState.DELETED,
                memory_id=versions[-1].memory_id if versions else None,
                attempts=1,
                updated_at=NOW,
                origin=one.origin,
            )
        return outcomes


def _literal(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())


def _folded(hits: Sequence[Hit]) -> list[Hit]:
    """Of hits that state the same the best, with the ids of the others."""
    groups: dict[str, list[Hit]] = {}
    for hit in hits:
        title = "" if hit.title == title_of(hit.content) else hit.title
        wording = wording_id(hit.content, hit.session)
        key = (wording, title, hit.tags, json.dumps(hit.metadata, sort_keys=True), hit.superseded_by is None)
        groups.setdefault(repr(key), []).append(hit)
    return [replace(best, near_duplicates=tuple(hit.id for hit in others)) for best, *others in groups.values()]


def _summary(m: Memory) -> MemorySummary:
    return MemorySummary(id=m.id, timestamp=m.timestamp, title=m.title, tags=m.tags, superseded_by=m.superseded_by)


def _snippet(content: str, query: str | None, shown: int) -> str | None:
    """What stands around the longest word of the query, where that is not shown."""
    words = [word for word in sorted(_words(query or ""), key=len, reverse=True) if word in content.casefold()]
    place = content.casefold().find(words[0]) if words else -1
    return content[place - 81 : place + 159] if place >= shown else None


def _why(hit: Hit, query: SearchQuery) -> Why:
    return Why(matched_words=tuple(sorted(_words(query.query or "") & _words(hit.content))))


def _cut(hits: Sequence[Hit], budget: int | None, query: str | None) -> list[Hit]:
    """The longest cut until all fit: each as long as the others that do not fit."""
    lengths = [len(hit.content) + len(json.dumps(dict(hit.metadata))) for hit in hits]
    if budget is None or sum(lengths) <= budget:
        return list(hits)
    left, each = budget, 0
    for place, length in enumerate(sorted(lengths)):
        each = left // (len(hits) - place)
        if length > each:
            break
        left -= length
    cut = []
    for hit, length in zip(hits, lengths, strict=True):
        beside = length - len(hit.content)
        keep = beside <= each // 2
        shown = each - (beside if keep else 0)
        snippet = _snippet(hit.content, query, shown - 240) if length > each and shown >= 500 else None
        shorter = replace(
            hit,
            content=hit.content[: shown - len(snippet or "")],
            metadata=hit.metadata if keep else {},
            truncated=True,
            snippet=snippet,
        )
        cut.append(shorter if length > each else hit)
    return cut


def _words_in_common(query: str, memory: Memory) -> float:
    return float(len(_words(query) & _words(" ".join([memory.title, memory.content, *memory.tags]))))


def _words(text: str) -> set[str]:
    return {word.strip(".,?!") for word in text.casefold().split()}


def _source(status: IngestStatus) -> str | None:
    return status.origin.source if status.origin else None


def _export_key(memory: Memory | ExportedMemory) -> tuple[datetime, str]:
    return memory.timestamp, memory.content_hash


def _hit(memory: Memory, relevance: float | None, score: float) -> Hit:
    return Hit(
        id=memory.id,
        **memory.said,
        superseded_by=memory.superseded_by,
        relevance=relevance,
        quality=memory.quality,
        score=score,
    )


def _related(
    found: Mapping[str, tuple[Memory, Sequence[Vector]]], fused: Mapping[str, float | None], query: SearchQuery
) -> dict[str, float]:
    """Relevance by the oracle, where all candidates pass the filters and are all of their sessions."""
    sessions: dict[str, list[Memory]] = {}
    for memory, _ in found.values():
        if memory.session is not None:
            sessions.setdefault(memory.session, []).append(memory)
    in_order = [[one.content for one in sorted(s, key=lambda one: (one.timestamp, one.id))] for s in sessions.values()]
    names = {memory.content: name for name, (memory, _) in found.items()}
    preferred = [
        memory.content
        for memory, _ in found.values()
        if any(
            (w.after is None or memory.timestamp >= w.after) and (w.before is None or memory.timestamp < w.before)
            for w in query.preferred
        )
    ]
    scores = {content: fused[name] or 0.0 for content, name in names.items()}
    related = oracle.relevance(scores, question=query.query or "", sessions=in_order, preferred=preferred)
    return {names[content]: one for content, one in related.items()}


def _passes(memory: Memory, filters: Filters) -> bool:
    keys = {tag_key(tag) for tag in memory.tags}
    wanted = {tag_key(tag) for tag in filters.tags}
    return (
        (filters.include_superseded or memory.superseded_by is None)
        and (filters.after is None or memory.timestamp >= filters.after)
        and (filters.before is None or memory.timestamp < filters.before)
        and filters.session in (None, memory.session)
        and (filters.not_session is None or memory.session != filters.not_session)
        and all(_meets(memory.metadata, one) for one in filters.metadata)
        and (not wanted or (wanted <= keys if filters.tag_match is TagMatch.ALL else bool(wanted & keys)))
    )


def _meets(metadata: Any, asked: MetadataCondition) -> bool:
    """Whether something at the path is as asked; an array stands for each of its elements."""
    found = [metadata]
    for name in asked.path:
        objects = [one for part in found for one in (part if isinstance(part, list) else [part])]
        found = [one[name] for one in objects if isinstance(one, dict) and name in one]
    if asked.operator in (Operator.EXISTS, Operator.MISSING):
        return bool(found) == (asked.operator is Operator.EXISTS)
    values = [one for part in found for one in (part if isinstance(part, list) else [part])]
    if asked.operator is Operator.EQUAL:
        wanted = {text for value in asked.values for text in texts_of(value)}
        return any(
            (one if isinstance(one, str) else texts_of(json.dumps(one))[-1]) in wanted
            for one in values
            if isinstance(one, str | int | float)
        )
    compare = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}[asked.operator]
    (bound,) = asked.values
    if is_number(bound):
        numbers = [one for one in values if isinstance(one, int | float) and not isinstance(one, bool)]
        return any(compare(one, float(bound)) for one in numbers)
    return any(compare(one, bound) for one in values if isinstance(one, str) and re.match(r"\d{4}-\d\d-\d\d", one))


class FakeServices:
    """Everything a tool may use, in memory."""

    def __init__(self) -> None:
        self.queue = FakeQueue()
        self.memories = FakeStore()
        self.embedder = FakeEmbedder()
        self.reranker: FakeReranker | None = None
        self.outcome_topic: FakeOutcomes | None = None

    def known_quota(self, namespace: str) -> Quota | None:
        return self.memories.known_quota(namespace)

    def clock(self) -> datetime:
        return NOW


def request(content: str, **fields: object) -> IngestRequest:
    """A valid ingest request for that content."""
    values: dict[str, object] = {"timestamp": NOW, "tags": (), "title": None, "metadata": None, **fields}
    return IngestRequest.of(new_id(), content=content, **values)  # type: ignore[arg-type]
