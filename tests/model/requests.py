"""The requests and dead letters of a namespace, and the passing of days, in plain Python."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from mnemosyne.domain.memory import Deletion, FailedRequest
from mnemosyne.domain.pubsub_message import Published
from tests.model.memories import Memories, Request, key_of
from tests.request_states import documented_states

FINAL = ("stored", "duplicate", "deleted")


class AgainError(Exception):
    """Raised if a message is not acknowledged, so that it is delivered again."""

    def __init__(self, error: str = "", *, of_item: bool = False) -> None:
        super().__init__(error)
        self.error = error
        self.of_item = of_item


class CrashedError(Exception):
    """Raised when the process is killed."""


@dataclass
class Letter:
    """A dead letter."""

    message: Published
    has_unreported_part: bool
    since: int
    """Day of the first failure."""
    failed: int
    """Day of the last failure."""
    redrives: int = 0
    redriven: int | None = None
    """Number of the day on which its message was published again, or None if no such message is waiting for
    delivery."""
    name: str = ""
    """The letter id that its republished message carries."""

    def may_be_redriven(self, day: int, *, now: bool) -> bool:
        """Whether the letter may be redriven on this day. With `now`, the end of its back-off need not be awaited."""
        if self.redriven is not None:
            return day > self.redriven
        return now or self.redrives == 0 or day > self.failed


@dataclass
class Requests(Memories):
    """The memories of one namespace, with its requests and dead letters."""

    day: int = 0
    letters: dict[str, Letter] = field(default_factory=dict)
    room: int | None = None
    """Maximum number of memories of the namespace, or None."""
    space: int = 0
    """Number (0 or 1) of the embedding space that the memories are in."""
    noticed_space: int = 0
    """Number of the embedding space that the process knows."""
    locks: set[object] = field(default_factory=set)
    """Ids, keys and contents that a delivery has locked."""
    commits_left: int | None = None
    """Number of commits before the process is killed, or None."""

    def commit(self) -> None:
        """Count a commit, or crash instead of it."""
        if self.commits_left is not None:
            if self.commits_left == 0:
                raise CrashedError
            self.commits_left -= 1

    def record(self, request_id: UUID, event: str, **values: object) -> str | None:
        """Apply an event to a request, and return its state if it changed."""
        row = self.requests.get(request_id)
        state = documented_states()[event, row.state if row else None]
        if state is None:
            return None
        if row is None:
            row = self.requests[request_id] = Request(state, self.day)
        row.state, row.changed, row.redriven = state, self.day, False
        for name, value in values.items():
            setattr(row, name, value)
        return state

    def record_unstored(self, unstored: Sequence[FailedRequest], event: str) -> None:
        """Record requests that were not stored."""
        if not unstored:
            return
        self.commit()
        for ingest_request in unstored:
            if self.record(ingest_request.request_id, event, error=ingest_request.error) and ingest_request.external_id:
                self.requests[ingest_request.request_id].key = key_of(ingest_request)

    def have_others(self, rejected: Sequence[FailedRequest], published: datetime | None) -> bool:
        """Whether the id of an invalid request belongs to another one, final before the message was published."""
        rows = [(row, request) for request in rejected if (row := self.requests.get(request.request_id))]
        now = datetime.now(UTC)
        return any(
            row.state in FINAL
            and not (published and published < now - timedelta(days=self.day - row.changed))
            and (row.content_hash, row.key) != (request.content_hash, key_of(request) if request.external_id else None)
            for row, request in rows
        )

    def delete_records(self, deletions: Sequence[Deletion]) -> tuple[bool, bool]:
        """Delete records by key.

        Return whether one of the deletions' requests is locked, and whether one of their ids belongs to another request
        that is final.
        """
        self.commit()
        busy = conflicting = False
        for item in sorted(deletions, key=lambda deletion: (key_of(deletion), deletion.request_id)):
            row = self.requests.get(item.request_id)
            if ("id", item.request_id) in self.locks:
                busy = True
            elif row and row.state in FINAL and not is_same_request(row, "", key_of(item)):
                conflicting = True
            else:
                self.delete_record(item)
                now = {"error": None, "key": key_of(item), "memory": None, "content_hash": None, "version": None}
                self.record(item.request_id, "deleted", **now)
        return busy, conflicting

    def shown(self, request: Request) -> str:
        """Return the state that the server should report for the request."""
        if request.state in ("stored", "duplicate") and request.memory not in self.memories:
            return "deleted"
        is_abandoned = request.state == "queued" and request.redriven and self.day > request.changed
        return "dead_lettered" if is_abandoned else request.state

    def change_space(self) -> None:
        """Move all memories to the other embedding space."""
        self.space = 1 - self.space

    def forget_old(self) -> None:
        """Remove the requests without a key that have not changed for 90 days.

        Requests that could be in a dead letter are kept.
        """
        limit = min([self.day - 90, *(letter.since - 31 for letter in self.letters.values())])
        old = [name for name, row in self.requests.items() if row.changed < limit and row.key is None]
        for name in old:
            del self.requests[name]


def is_same_request(row: Request, content_hash: str | None, key: UUID | None) -> bool:
    """Whether a row belongs to the request with this content hash and key.

    The content hash is "" for a deletion, and None for a request that cannot be read.
    """
    if content_hash is None:
        return True
    return row.key == key and row.content_hash == (content_hash or None)
