"""Versions and deletions of records, delivered in any order, end in the same state."""

from collections.abc import Iterable
from itertools import permutations
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemosyne.adapters.database.pool import Pool
from mnemosyne.domain.memory import Deletion, IngestRequest
from tests.fakes import NOW
from tests.records import Records, deletion, records_in, version

pytestmark = pytest.mark.slow

Messages = list[list[IngestRequest | Deletion]]
SMALL = settings(deadline=None, suppress_health_check=list(HealthCheck))


def _covered(memory: IngestRequest, deletions: Iterable[Deletion]) -> bool:
    assert memory.published
    return any(
        memory.external_id == gone.external_id
        and (memory.timestamp <= gone.timestamp or memory.published <= (gone.published or NOW))
        for gone in deletions
    )


def _live(items: Iterable[IngestRequest | Deletion]) -> dict[str, list[IngestRequest]]:
    """Return what a simple model expects: for each key, the versions that no deletion covers, the earliest first."""
    items = list(items)
    deletions = [item for item in items if isinstance(item, Deletion)]
    versions = {item.request_id: item for item in items if isinstance(item, IngestRequest)}
    live: dict[str, list[IngestRequest]] = {}
    for memory in sorted(versions.values(), key=lambda v: (v.timestamp, v.published, v.content_hash)):
        if memory.external_id and not _covered(memory, deletions):
            live.setdefault(memory.external_id.key, []).append(memory)
    return live


SECONDS = st.integers(0, 4)


def _request_id(item: IngestRequest | Deletion) -> UUID:
    return item.request_id


@st.composite
def _items(draw: st.DrawFn, *, shared: bool) -> IngestRequest | Deletion:
    key, second = draw(st.sampled_from("kl") if shared else st.just("k")), draw(SECONDS)
    # The publish time is derived from the other values, so that the same version always has the same publish time.
    published = second if shared else 3 * second % 5
    if draw(st.integers(0, 4)) == 0:
        return deletion(key, second, published=published)
    letter = draw(st.sampled_from("abc"))
    content = letter if shared else f"{key} {letter}"
    return version(key, content, second, published=published, title=f"{content} at {second}")


def _messages(*, shared: bool) -> st.SearchStrategy[Messages]:
    message = st.lists(_items(shared=shared), min_size=1, max_size=3, unique_by=_request_id)
    return st.lists(message, min_size=4, max_size=7).flatmap(
        lambda messages: st.permutations([*messages, *messages[:2]])  # Some are delivered twice.
    )


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_a_content_whose_latest_version_is_deleted_is_superseded_by_the_current_version(
    pool: Pool, order: tuple[int, ...]
) -> None:
    # The versions of `b` and `a` with the timestamp 3 remain. `a` is the current version, because its hash is greater.
    versions = [
        version("k", "k b", 4, published=2),
        version("k", "k b", 3, published=4),
        version("k", "k a", 3, published=4),
    ]
    records = records_in(pool)
    for index in order:
        records.deliver(versions[index])
    records.deliver(deletion("k", 1, published=3))
    assert records.visible() == {"k a"}
    assert records.stored() == {"k a", "k b"}


def _deliver(pool: Pool, messages: Messages) -> tuple[Records, list[list[IngestRequest]]]:
    """Deliver the messages, and return the records and each record's versions in the model, the earliest first."""
    records = records_in(pool)
    for message in messages:
        records.deliver(*message)
    return records, list(_live(item for message in messages for item in message).values())


@SMALL
@given(messages=_messages(shared=False))
def test_in_any_order_of_arrival_the_latest_version_is_current_and_the_others_are_superseded_or_deleted(
    pool: Pool, messages: Messages
) -> None:
    records, live = _deliver(pool, messages)
    assert records.visible() == {versions[-1].content for versions in live}
    assert records.stored() == {version.content for versions in live for version in versions}


@SMALL
@given(messages=_messages(shared=True))
def test_a_content_shared_by_records_is_visible_while_it_is_the_current_version_of_one_of_them(
    pool: Pool, messages: Messages
) -> None:
    records, live = _deliver(pool, messages)
    assert records.visible() == {versions[-1].content for versions in live}
