"""The delivery of one message's memories in plain Python: claim, embed, store."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from mnemosyne.domain.memory import FailedRequest, IngestRequest
from mnemosyne.domain.message import IngestMessage
from tests.model.memories import Memory, key_of, version_of
from tests.model.requests import FINAL, AgainError, Requests, is_same_request

SLICE = 2
"""Maximum number of requests in a slice."""
IMMUTABLE = "ledger"
"""The source whose records may not change."""
HINDERED, REFUSED = "hindered", "refused"
"""Errors of a text: it cannot be embedded now, or never."""
NEWER = "schema_version"
"""Beginning of the error of a message that is newer than its reader."""

Meanwhile = Callable[[], None]
"""Function that does something else while the texts of a delivery are being embedded."""


class RefusedError(Exception):
    """The embedder refuses a text, or cannot embed it now."""

    def __init__(self, error: str, *, for_now: bool) -> None:
        super().__init__(error)
        self.error = error
        self.for_now = for_now


@dataclass
class Faults:
    """How the embedder fails."""

    away: str = ""
    """Error of every text."""
    refused: set[str] = field(default_factory=set)
    """Texts that can never be embedded."""
    hindered: set[str] = field(default_factory=set)
    """Texts that cannot be embedded now."""


@dataclass
class Stored:
    """Results of storing a message's requests."""

    busy: bool = False
    conflicting: bool = False
    over_quota: bool = False
    hindered: str = ""


@dataclass
class Delivery:
    """One delivery of one message."""

    model: Requests
    faults: Faults
    meanwhile: Meanwhile | None = None
    stored: Stored = field(default_factory=Stored)

    def store(self, message: IngestMessage) -> Stored:
        """Store the message's memories. Raises AgainError if it is not acknowledged."""
        try:
            if message.retry_reason:
                raise AgainError(message.retry_reason, of_item=True)
            self.model.record_unstored(message.rejected, "failed")
            if not message.dead_letter_reason:
                self.stored.conflicting |= self.model.have_others(message.rejected, message.published)
            if message.deletions:
                busy, conflicting = self.model.delete_records(message.deletions)
                self.stored.busy |= busy
                self.stored.conflicting |= conflicting
            for start in range(0, len(message.requests), SLICE):
                self._slice(message.requests[start : start + SLICE])
            if self.stored.hindered:
                raise AgainError(self.stored.hindered, of_item=True)
        except AgainError as exc:
            self.model.record_unstored(message.waiting(exc.error), "postponed")
            raise
        if self.stored.busy:
            raise AgainError
        return self.stored

    def _slice(self, requests: Sequence[IngestRequest]) -> None:
        try:
            self._together(requests)
        except RefusedError as exc:
            if len(requests) > 1:
                for half in (requests[: len(requests) // 2], requests[len(requests) // 2 :]):
                    self._slice(half)
            elif exc.for_now:
                self.stored.hindered = self.stored.hindered or exc.error
            else:
                self._fail(requests, exc.error)

    def _fail(self, requests: Sequence[IngestRequest], error: str) -> None:
        failed = [
            FailedRequest(request_id=request.request_id, error=error, external_id=request.external_id)
            for request in requests
        ]
        self.model.record_unstored(failed, "failed")

    def _together(self, requests: Sequence[IngestRequest]) -> None:
        new = self._claim(requests)
        fitting, refused = self._within_quota(new)
        if fitting:
            locked = self.model.locks
            self.model.locks = locked.union(*map(_names, new))
            try:
                self._embed(fitting)
                self._commit(fitting)
            finally:
                self.model.locks = locked
        if refused:
            self._fail(refused, "over quota")
            self.stored.over_quota = True

    def _claim(self, requests: Sequence[IngestRequest]) -> list[IngestRequest]:
        """Record the requests that need no new memory, and return the requests to store."""
        self.model.commit()
        free = [request for request in requests if not _names(request) & self.model.locks]
        self.stored.busy |= len(free) < len(requests)
        settled = self._settle_versions(
            [sent_version for sent_version in free if sent_version.external_id and not self._is_final(sent_version)]
        )
        new = []
        for version in free:
            row = self.model.requests.get(version.request_id)
            memory = self.model.with_content(version.content_hash)
            if row and row.state in FINAL:
                self.stored.conflicting |= not is_same_request(row, version.content_hash, _key(version))
            elif version.request_id not in settled:
                if memory and not version.external_id:
                    self._record(version, "duplicate", memory)
                else:
                    new.append(version)
        self.model.forget_old()
        return new

    def _settle_versions(self, versions: Sequence[IngestRequest]) -> set[UUID]:
        """Record versions that are covered by a deletion, refused or duplicates, and return their requests."""
        settled = set()
        for version, event in sorted(
            ((version, self._event(version, versions)) for version in versions), key=lambda x: _order(x[0])
        ):
            if event and (
                event := self.model.place(event, memory := self.model.with_content(version.content_hash), version)
            ):
                self._record(version, event, memory)
                settled.add(version.request_id)
        return settled

    def _event(self, version: IngestRequest, versions: Sequence[IngestRequest]) -> str | None:
        if self._is_covered(version):
            return "deleted"
        if version.external_id and version.external_id.source == IMMUTABLE:
            record = self.model.records.get(key_of(version))
            current = self.model.memories.get(record.current or 0) if record else None
            same_record = [
                other_version
                for other_version in versions
                if key_of(other_version) == key_of(version) and not self._is_covered(other_version)
            ]
            first = current.content_hash if current else min(same_record, key=_order).content_hash
            if version.content_hash != first:
                return "failed"
        return "duplicate" if self.model.with_content(version.content_hash) else None

    def _is_covered(self, version: IngestRequest) -> bool:
        record = self.model.records.get(key_of(version))
        return bool(record and record.covers(version_of(version)))

    def _is_final(self, request: IngestRequest) -> bool:
        row = self.model.requests.get(request.request_id)
        return bool(row and row.state in FINAL)

    def _record(self, request: IngestRequest, event: str, memory: Memory | None) -> None:
        version = (key_of(request), version_of(request)) if request.external_id else (None, None)
        number = memory.number if memory and event in ("stored", "duplicate") else None
        self.model.record(
            request.request_id,
            event,
            memory=number,
            content_hash=request.content_hash,
            error=None,
            key=version[0],
            version=version[1],
        )

    def _within_quota(self, new: Sequence[IngestRequest]) -> tuple[list[IngestRequest], list[IngestRequest]]:
        contents = list(dict.fromkeys(ingest_request.content_hash for ingest_request in new))
        if self.model.room is not None:
            contents = contents[: max(0, self.model.room - len(self.model.memories))]
        return (
            [ingest_request for ingest_request in new if ingest_request.content_hash in contents],
            [ingest_request for ingest_request in new if ingest_request.content_hash not in contents],
        )

    def _embed(self, requests: Sequence[IngestRequest]) -> None:
        space = self.model.noticed_space
        if self.meanwhile:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        if self.faults.away:
            raise AgainError(self.faults.away)
        texts = {request.content for request in requests}
        if texts & self.faults.refused:
            raise RefusedError(REFUSED, for_now=False)
        if texts & self.faults.hindered:
            raise RefusedError(HINDERED, for_now=True)
        if space != self.model.space:
            self.model.noticed_space = self.model.space
            raise AgainError("another space")

    def _commit(self, fitting: Sequence[IngestRequest]) -> None:
        """Store the memories. Raises AgainError if a deletion now covers one of them."""
        for ingest_request in fitting:
            if (
                ingest_request.external_id
                and self._is_covered(ingest_request)
                and self._is_first(ingest_request, fitting)
            ):
                raise AgainError("the record was deleted meanwhile")
        self.model.commit()
        memories: dict[str, Memory] = {}
        events = {}
        for ingest_request in fitting:
            events[ingest_request.request_id] = "duplicate" if ingest_request.content_hash in memories else "stored"
            if ingest_request.content_hash not in memories:
                memories[ingest_request.content_hash] = self.model.add(ingest_request)
        for ingest_request in fitting:
            if not ingest_request.external_id:
                self._record(ingest_request, events[ingest_request.request_id], memories[ingest_request.content_hash])
        for ingest_request in sorted(
            (sent_version for sent_version in fitting if sent_version.external_id), key=_order
        ):
            event = self.model.place(
                events[ingest_request.request_id], memories[ingest_request.content_hash], ingest_request
            )
            if event:
                self._record(ingest_request, event, memories[ingest_request.content_hash])

    @staticmethod
    def _is_first(request: IngestRequest, requests: Sequence[IngestRequest]) -> bool:
        return next(candidate for candidate in requests if candidate.content_hash == request.content_hash) is request


def comparable(error: str | None) -> str:
    """Return the error if the model and the functions have the same text for it. Return "" for all other errors."""
    return error if error and (error in (HINDERED, REFUSED) or error.startswith(NEWER)) else ""


def _key(request: IngestRequest) -> UUID | None:
    return key_of(request) if request.external_id else None


def _names(request: IngestRequest) -> set[object]:
    """Return the names of the locks that a delivery takes for a request."""
    keys = {("key", key_of(request))} if request.external_id else set()
    return {("id", request.request_id), ("content", request.content_hash), *keys}


def _order(version: IngestRequest) -> tuple[object, ...]:
    return key_of(version), *version_of(version), version.content_hash, version.request_id
