"""Complete exports: an export restored into an empty database gives the same export again."""

import json
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemosyne.adapters.database.archive import Archive
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.app.operations.export import ExportMemories, ExportRecords, ExportRequests, RestoreLines
from mnemosyne.cli import formats
from mnemosyne.cli.export import _records, _write
from mnemosyne.cli.restore import _lines
from mnemosyne.cli.system import pages
from mnemosyne.domain.archive import EXTRAS, ArchivedMemory
from mnemosyne.domain.forgetting import Selection
from mnemosyne.domain.memory import ExternalId, FailedRequest, IngestRequest
from mnemosyne.domain.memory_changes import GivenRating, MemoryChange
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import EVERY_MEMORY
from mnemosyne.errors import Conflict, InvalidRequest
from mnemosyne.ids import new_id
from mnemosyne.service import forgetting, ingest
from tests.fakes import NOW, FakeEmbedder, memories_in, request
from tests.memories import store_content
from tests.operations import LocalOperations
from tests.shared_database import SharedDatabase


class Archives:
    """The operations that an export and a restore need, run on one database as the owner of the schema."""

    def __init__(self, pool: Pool, namespace: str) -> None:
        self._pool = pool
        self.store = memories_in(pool, namespace)
        self.system = LocalOperations(self)

    def memories_of(self, namespace: str) -> MemoryStore:
        return MemoryStore(self.store.database, namespace)

    def archive_of(self, namespace: str) -> Archive:
        return Archive(self._pool.connection, namespace)

    def restore(self, namespace: str, memories: list[ArchivedMemory]) -> int:
        return self.archive_of(namespace).restore(memories, lambda space: FakeEmbedder())

    def export(self) -> list[str]:
        """Export all memories and return the lines."""
        lines = [json.dumps(record) for record in _records(self.system, self.store.namespace)]
        for operation in (ExportRequests(namespace="ns"), ExportRecords(namespace="ns")):
            lines += [json.dumps(line) for page in pages(self.system, operation) for line in page["lines"]]
        return lines

    def bring_back(self, lines: list[str]) -> None:
        """Restore an export."""
        for start in range(0, len(lines), 100):
            batch = [json.loads(line) for line in lines[start : start + 100]]
            self.system.run(RestoreLines(namespace="ns", lines=batch))


@pytest.fixture
def archive(shared_database: SharedDatabase) -> Iterator[Archives]:
    with closing(Pool(shared_database.connect_as_owner, 2)) as pool:
        yield Archives(pool, "ns")


@pytest.fixture
def empty(shared_database: SharedDatabase) -> Callable[[], None]:
    """Function that deletes everything in the database."""
    return shared_database.empty


@pytest.fixture
def restored(archive: Archives, empty: Callable[[], None]) -> Callable[[], list[str]]:
    """Function that exports all memories, empties the database, restores the export, and returns it."""

    def run() -> list[str]:
        exported = archive.export()
        empty()
        archive.bring_back(exported)
        return exported

    return run


def _ingest(store: MemoryStore, *requests: IngestRequest) -> None:
    ingest.store(IngestMessage("ns", requests), memories=store, embedder=FakeEmbedder())


def _short_facts(store: MemoryStore) -> None:
    for number in range(110):  # more than a page of a restore
        store_content(
            store,
            f"fact {number} about tea",
            tags=(f"tag {number % 7}", "tea"),
            metadata={"number": number, "nested": {"none": None, "text": "é\u2028"}},
            session=f"talk {number % 3}" if number % 2 else None,
            timestamp=NOW - timedelta(hours=number),
            expires_at=None if number % 5 else datetime.now(UTC) + timedelta(days=number + 1),
            pinned=number % 11 == 0,
        )


def _long_documents(store: MemoryStore) -> None:
    pick = random.Random(7)
    for number in range(3):
        words = " ".join(pick.choice(["tea", "green", "leaf", "water", "cup"]) for _ in range(2_500))
        store_content(store, f"document {number}: {words}"[:10_000], title=f"Document {number}")


def _versions_and_ratings(store: MemoryStore) -> None:
    for version in range(3):
        for key in range(20):
            _ingest(
                store,
                request(
                    f"record {key} in version {version}",
                    external_id=ExternalId("https://crm.example.com", str(key)),
                    timestamp=NOW + timedelta(days=version),
                ),
            )
    ids = [memory.id for memory in store.export(500)]
    for number, memory_id in enumerate(ids):
        for rater in range(number % 3):
            rating = GivenRating(rating=(-1, 0, 1)[number % 3], reason="why" if number % 2 else None,
                                 rated_by=f"key:{rater}", rater_name=f"rater {rater}")  # fmt: skip
            store.rate(memory_id, rating)
    old, new, gone = (store_content(store, text) for text in ("old", "new", "gone"))
    store.update(old, MemoryChange(superseded_by=new))
    store.update(new, MemoryChange(superseded_by=gone, tags=("a", "b"), title="changed"))
    store.delete(gone)
    store.record_failures([FailedRequest(request_id=new_id(), error="no", first_words="the first words")])
    _ingest(store, request("old"))  # a duplicate


SHAPES = {"short facts": _short_facts, "long documents": _long_documents, "versions": _versions_and_ratings}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_restored_export_gives_the_same_export(
    archive: Archives, restored: Callable[[], list[str]], shape: str
) -> None:
    SHAPES[shape](archive.store)
    memories = archive.store.stats().memories
    exported = restored()
    assert len(exported) > memories
    assert archive.export() == exported
    archive.bring_back(exported[:50] * 2 + exported)  # a repeated restore changes nothing
    assert archive.export() == exported
    assert archive.store.stats().memories == memories


def test_restored_memories_keep_their_ratings_and_supersessions_and_get_later_versions(
    archive: Archives, restored: Callable[[], list[str]]
) -> None:
    _versions_and_ratings(archive.store)
    ids = [memory.id for memory in archive.store.export(500)]
    memories = [archive.store.fetch(memory_id) for memory_id in ids]
    statuses = archive.store.outcomes_of_keys("https://crm.example.com", ["1", "7"])
    restored()
    assert [archive.store.fetch(memory_id) for memory_id in ids] == memories
    assert archive.store.outcomes_of_keys("https://crm.example.com", ["1", "7"]) == statuses
    key = ExternalId("https://crm.example.com", "1")
    _ingest(archive.store, request("record 1, older", external_id=key, timestamp=NOW - timedelta(days=9)))
    _ingest(archive.store, request("record 1, newest", external_id=key, timestamp=NOW + timedelta(days=9)))
    current = [
        memory.content
        for memory in archive.store.export(500)
        if re.match("record 1[ ,]", memory.content) and not memory.superseded_by_hash
    ]
    assert current == ["record 1, newest"]


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=40)
RECORD = st.fixed_dictionaries(
    {
        "content": TEXT.filter(lambda text: text.strip() != ""),
        "tags": st.lists(TEXT.filter(lambda text: text.strip() != ""), max_size=3).map(tuple),
        "title": st.none() | TEXT,
        "metadata": st.dictionaries(TEXT, st.none() | st.booleans() | st.integers(-(2**40), 2**40) | TEXT, max_size=3),
        "session": st.none() | st.sampled_from(["s", "t"]),
        "timestamp": st.integers(0, 4 * 10**15).map(
            lambda us: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
        ),
        "external_id": st.none() | st.builds(ExternalId, st.sampled_from(["a", "b"]), st.sampled_from(["1", "2", "3"])),
    }
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(RECORD, min_size=1, max_size=12), rated=st.integers(-1, 1), pick=st.randoms())
def test_any_set_of_memories_is_restored_from_its_export(
    archive: Archives,
    empty: Callable[[], None],
    restored: Callable[[], list[str]],
    records: list[dict[str, Any]],
    rated: int,
    pick: random.Random,
) -> None:
    empty()
    for record in records:
        _ingest(archive.store, request(**record))
    ids = [memory.id for memory in archive.store.export(500)]
    archive.store.rate(pick.choice(ids), GivenRating(rating=rated, reason="r", rated_by="key:a", rater_name="a"))
    if len(ids) > 2:
        archive.store.update(ids[0], MemoryChange(superseded_by=ids[1]))
        archive.store.delete(ids[2])
    assert restored() == archive.export()


def test_an_ordinary_import_reads_the_memories_of_a_complete_export(archive: Archives, tmp_path: Path) -> None:
    _versions_and_ratings(archive.store)
    path = tmp_path / "all.jsonl"
    with path.open("w") as stream:
        for line in archive.export():
            _write(stream, json.loads(line))
    items = list(formats.read(path))
    assert len(items) == len(archive.store.export(500))
    assert not [item for item in items if item.problem or item.left_out]
    assert len(list(_lines([path]))) == len(archive.export())


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"content": "another"}, "content_hash"),
        ({EXTRAS: None}, "import the file without --restore"),
        ({"id": "7"}, "id must be"),
        ({EXTRAS: {"request": {"state": "queued"}}}, "state must be one of"),
        ({"title": None}, "title must be"),
        ({"tags": "a, b"}, "tags must be"),
        ({"timestamp": "yesterday"}, "timestamp must be RFC 3339"),
        ({"metadata": {"n": float("nan")}}, 'metadata field "n" must be a finite number'),
    ],
)
def test_a_changed_line_of_an_export_is_refused(archive: Archives, change: dict[str, Any], error: str) -> None:
    store_content(archive.store, "tea")
    (line,) = (json.loads(line) for line in archive.export() if "tea" in line)
    with pytest.raises(InvalidRequest, match=error):
        archive.system.run(RestoreLines(namespace="other", lines=[line | change]))


def test_a_content_that_is_stored_under_another_id_is_refused(archive: Archives, empty: Callable[[], None]) -> None:
    store_content(archive.store, "tea")
    exported = archive.export()
    empty()
    store_content(archive.store, "tea")
    unchanged = archive.export()
    with pytest.raises(Conflict, match="restore into an empty namespace"):
        archive.bring_back(exported)
    assert archive.export() == unchanged


def test_a_memory_of_another_namespace_is_refused(archive: Archives) -> None:
    store_content(archive.store, "tea")
    with pytest.raises(Conflict, match="import the file without --restore"):
        archive.system.run(RestoreLines(namespace="other", lines=[json.loads(line) for line in archive.export()]))


def test_a_memory_that_has_expired_since_the_export_is_left_out(archive: Archives, empty: Callable[[], None]) -> None:
    store_content(archive.store, "tea", expires_at=datetime.now(UTC) + timedelta(days=1))
    store_content(archive.store, "coffee")
    lines = [json.loads(line) for line in archive.export()]
    empty()
    expired = [line | {"expires_at": "2020-01-01T00:00:00Z"} if "expires_at" in line else line for line in lines]
    archive.bring_back([json.dumps(line) for line in expired])
    assert [memory.content for memory in archive.store.export(10)] == ["coffee"]


def test_a_memory_that_was_forgotten_since_the_export_is_left_out(archive: Archives) -> None:
    _short_facts(archive.store)
    lines = archive.export()
    everything = Selection()
    token = archive.store.preview_forgetting(everything, 1).token
    begun = forgetting.begin(everything, token, "", memories=archive.store)
    forgetting.proceed(begun, memories=archive.store, deadline=time.monotonic() + 60)
    archive.bring_back(lines)
    assert archive.store.list(EVERY_MEMORY, 10) == []


def test_a_memory_that_is_deleted_during_an_export_is_left_out(
    archive: Archives, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory_id = store_content(archive.store, "tea")
    extras = Archive.extras

    def delete_first(self: Archive, ids: Any) -> Any:
        archive.store.delete(memory_id)
        return extras(self, ids)

    monkeypatch.setattr(Archive, "extras", delete_first)
    assert archive.system.run(ExportMemories(namespace="ns"))["memories"] == []
