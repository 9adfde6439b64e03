"""Versions and deletions of records that a source names by a key: the end does not depend on the order of arrival."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemosyne.adapters.database.memories import PostgresMemories
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.domain.memory import Deletion, IngestRequest, IngestStatus, Memory, Origin
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import Filters
from mnemosyne.ids import deletion_id, version_id
from mnemosyne.service import ingest
from tests.fakes import FAKE_SPACE, NOW, FakeEmbedder, request

SOURCE = "crm"
SMALL = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def _at(second: int) -> datetime:
    return NOW + timedelta(seconds=second)


def version(key: str, content: str, second: int, *, published: int | None = None, **labels: object) -> IngestRequest:
    """A version of a record, at that second, published at that second or another."""
    made = request(content, timestamp=_at(second), origin=Origin(SOURCE, key), **labels)
    request_id = version_id(SOURCE, key, made.content_hash, made.timestamp)
    return replace(made, request_id=request_id, published=_at(second if published is None else published))


def deletion(key: str, second: int, *, published: int | None = None) -> Deletion:
    """A deletion of a record, at that second, published at that second or another."""
    return Deletion(
        request_id=deletion_id(SOURCE, key, _at(second)),
        origin=Origin(SOURCE, key),
        timestamp=_at(second),
        published=_at(second if published is None else published),
    )


@dataclass
class Records:
    """The records of one namespace, delivered message by message."""

    store: PostgresMemories
    namespace: str

    def deliver(self, *items: IngestRequest | Deletion) -> list[IngestStatus]:
        """Deliver one message, and return the outcome of each item, in order."""
        message = IngestMessage(
            self.namespace,
            tuple(one for one in items if isinstance(one, IngestRequest)),
            deletions=tuple(one for one in items if isinstance(one, Deletion)),
        )
        ingest.store(message, memories=self.store, embedder=FakeEmbedder())
        statuses = self.store.statuses(self.namespace, message.request_ids)
        return [statuses[one.request_id] for one in items]

    def visible(self) -> set[str]:
        """The contents that searches find."""
        return {one.content for one in self._listed(Filters())}

    def stored(self) -> set[str]:
        """All contents, superseded ones as well."""
        return {one.content for one in self._listed(Filters(include_superseded=True))}

    def memory(self, status: IngestStatus) -> Memory:
        """The memory of an outcome."""
        assert status.memory_id
        found = self.store.fetch(self.namespace, status.memory_id)
        assert found
        return found

    def _listed(self, filters: Filters) -> list[Memory]:
        heads = self.store.list(self.namespace, filters, 100)
        return [one for head in heads if (one := self.store.fetch(self.namespace, head.id, counted=False))]


def _records(pool: Pool, *, immutable: Sequence[str] = ()) -> Records:
    return Records(PostgresMemories(pool, FAKE_SPACE, immutable_sources=immutable), str(uuid4()))


def _covered(one: IngestRequest, deletions: Iterable[Deletion]) -> bool:
    assert one.published
    return any(
        one.origin == gone.origin and (one.timestamp <= gone.timestamp or one.published <= (gone.published or NOW))
        for gone in deletions
    )


def _live(items: Iterable[IngestRequest | Deletion]) -> dict[str, list[IngestRequest]]:
    """The model: by key, the versions that no deletion covers, the latest last."""
    items = list(items)
    deletions = [one for one in items if isinstance(one, Deletion)]
    versions = {one.request_id: one for one in items if isinstance(one, IngestRequest)}
    live: dict[str, list[IngestRequest]] = {}
    for one in sorted(versions.values(), key=lambda v: (v.timestamp, v.published, v.content_hash)):
        if one.origin and not _covered(one, deletions):
            live.setdefault(one.origin.key, []).append(one)
    return live


SECONDS = st.integers(0, 4)


def _request_id(item: IngestRequest | Deletion) -> UUID:
    return item.request_id


@st.composite
def _items(draw: st.DrawFn, *, shared: bool) -> IngestRequest | Deletion:
    key, second = draw(st.sampled_from("kl") if shared else st.just("k")), draw(SECONDS)
    # When it was published follows from the rest, so that one version is published once.
    published = second if shared else 3 * second % 5
    if draw(st.integers(0, 4)) == 0:
        return deletion(key, second, published=published)
    letter = draw(st.sampled_from("abc"))
    content = letter if shared else f"{key} {letter}"
    return version(key, content, second, published=published, title=f"{content} at {second}")


def _messages(*, shared: bool) -> st.SearchStrategy[list[list[IngestRequest | Deletion]]]:
    message = st.lists(_items(shared=shared), min_size=1, max_size=3, unique_by=_request_id)
    return st.lists(message, min_size=4, max_size=7).flatmap(
        lambda messages: st.permutations([*messages, *messages[:2]])  # Some are delivered twice.
    )


@SMALL
@given(messages=_messages(shared=False))
def test_in_any_order_of_arrival_the_latest_version_is_current_and_the_others_are_superseded_or_deleted(
    pool: Pool, messages: list[list[IngestRequest | Deletion]]
) -> None:
    records = _records(pool)
    for message in messages:
        records.deliver(*message)
    live = _live(item for message in messages for item in message)
    assert records.visible() == {versions[-1].content for versions in live.values()}
    assert records.stored() == {one.content for versions in live.values() for one in versions}


@SMALL
@given(messages=_messages(shared=True))
def test_a_content_that_records_share_is_visible_while_it_is_the_current_version_of_one(
    pool: Pool, messages: list[list[IngestRequest | Deletion]]
) -> None:
    records = _records(pool)
    for message in messages:
        records.deliver(*message)
    live = _live(item for message in messages for item in message)
    assert records.visible() == {versions[-1].content for versions in live.values()}
