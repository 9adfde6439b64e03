"""Adoption of the database of an earlier server: its rows are kept, found, and not stored twice."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing
from uuid import UUID

import pytest

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.database.rows import vector_text
from mnemosyne.cli.local import postgres
from mnemosyne.domain.archive import ArchivedMemory
from mnemosyne.domain.chronicle import tag_key, tags_of, title_of, unite_tags
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory import IngestState, IngestStatus, content_hash
from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import Filters, SearchMode, SearchQuery
from mnemosyne.errors import Misconfigured
from mnemosyne.service import ingest
from tests.fakes import FakeEmbedder, memories_in, request, store_of
from tests.integration.test_archive import Archives
from tests.searching import find

CHRONICLE = """[[[CHRONICLE_START]]]
TS: 2026-05-20
TITLE:  The zeppelin\tleft
TAGS: Travel, airships ,travel,  , Größe
BODY: It left for Lakehurst.
[[[CHRONICLE_END]]]"""
CONTENTS = [
    CHRONICLE,
    "green tea is better",
    "green tea is better",
    "x" * 300,
    "  TITLE:\nno title\nTAGS:",
    "ÄRGER\u2028 🫖",
]


class OldDatabase:
    """The table of the earlier server: six columns, with other hashes and another index."""

    def __init__(self, owner: Connection, dimension: int) -> None:
        self.owner = owner
        self.embedder = FakeEmbedder()
        self.embedder.dimension = dimension
        self.embedder.model = "gemini-embedding-001"
        self.space = EmbeddingSpace("gemini", self.embedder.model, dimension)
        owner.script("CREATE EXTENSION vector")
        owner.script(
            f"CREATE TABLE memories (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), timestamp timestamptz NOT NULL,"
            f" content text NOT NULL, embedding vector({dimension}), content_hash varchar(64) UNIQUE,"
            f" last_seen_at timestamptz DEFAULT now())"
        )
        owner.script("CREATE INDEX memories_timestamp ON memories (timestamp)")
        for n, content in enumerate(CONTENTS):
            stamp = f"2026-05-{n + 1:02}T00:00:00Z"
            owner.run(
                "INSERT INTO memories (timestamp, content, embedding, content_hash) VALUES"
                " (CAST(:stamp AS timestamptz), :content, CAST(CAST(:embedding AS text) AS vector), :hash)",
                stamp=stamp,
                content=content,
                embedding=vector_text(3 * self.embedder.embed_documents([content])[0]),
                hash=hashlib.sha256(f"DATE:{stamp}\n{content}".encode()).hexdigest(),
            )
        self.ids: list[UUID] = [row[0] for row in owner.run("SELECT id FROM memories ORDER BY timestamp")]


Old = tuple[OldDatabase, MemoryStore]


@pytest.fixture
def old(
    request: pytest.FixtureRequest, cluster: postgres.EmbeddedPostgres, new_database: Callable[..., str]
) -> Iterator[Old]:
    name = new_database(empty=True)
    owner = connection_factory(cluster.url(postgres.OWNER, name))()
    old_database = OldDatabase(owner, getattr(request, "param", 768))
    pool = Pool(connection_factory(cluster.url(postgres.RUNTIME_USER, name)), 2)
    yield old_database, memories_in(pool, "default", old_database.space)
    pool.close()
    owner.close()


@pytest.fixture
def adopted(old: Old) -> Old:
    before, _ = old
    migrations.migrate(before.owner, migrations.schema_files(), space=before.space)
    return old


@pytest.mark.parametrize("old", [768, 3072], indirect=True)
def test_every_row_is_kept_and_found_by_meaning_words_and_tags_and_all_indexes_exist(adopted: Old) -> None:
    before, store = adopted
    for memory_id, content in zip(before.ids, CONTENTS, strict=True):
        memory = store.fetch(memory_id)
        assert memory is not None
        assert (memory.content, memory.title, memory.tags) == (content, title_of(content), unite_tags(tags_of(content)))
    keys = before.owner.run("SELECT tags, tag_keys FROM memories")
    assert all([tag_key(tag) for tag in tags] == expected_keys for tags, expected_keys in keys)
    vector = before.embedder.embed_query("zeppelin Lakehurst left for")
    for query_vector, mode in ((vector, SearchMode.SEMANTIC), (None, SearchMode.HYBRID)):
        query = SearchQuery(query="zeppelin Lakehurst left for", mode=mode, limit=1)
        (hit,) = find(store, query, query_vector, model=before.space.model, lexical_weight=0.5).hits
        assert hit.id == before.ids[0]
    tagged = store.list(Filters(tags=("TRAVEL",)), 10)
    assert [head.id for head in tagged] == [before.ids[0]]
    invalid = "SELECT count(*) FROM pg_index WHERE indrelid = CAST('memories' AS regclass) AND NOT indisvalid"
    assert before.owner.run(invalid) == [[0]]
    assert before.owner.run(
        "SELECT to_regclass('memories_embedding') IS NOT NULL, to_regnamespace('mnemosyne_adopted')"
    ) == [[True, None]]


def test_adopted_memories_are_duplicates_when_sent_again_and_do_not_count_towards_the_daily_quota(
    adopted: Old,
) -> None:
    before, store = adopted
    usage = before.owner.run("SELECT sum(memories), sum(texts) FROM namespace_usage WHERE namespace = 'default'")
    assert usage == [[len(CONTENTS), 0]]
    outcomes = _send_again(before, store)
    assert {outcome.state for outcome in outcomes} == {IngestState.DUPLICATE}
    assert outcomes[1].memory_id == before.ids[1]
    assert before.owner.run("SELECT content_hash FROM memories WHERE id = :id", id=before.ids[1]) == [
        [content_hash("green tea is better")]
    ]


def _send_again(old: OldDatabase, store: MemoryStore) -> list[IngestStatus]:
    message = IngestMessage(store.namespace, tuple(request(content) for content in dict.fromkeys(CONTENTS)))
    result = ingest.store(message, memories=store, embedder=old.embedder)
    return [result.outcomes[ingest_request.request_id] for ingest_request in message.requests]


def test_an_adopted_database_is_restored_from_its_export(adopted: Old, cluster: postgres.EmbeddedPostgres) -> None:
    before, store = adopted
    (name,) = before.owner.run("SELECT current_database()")[0]
    with closing(Pool(connection_factory(cluster.url(postgres.OWNER, name)), 2)) as pool:
        archives = _Adopted(pool, "default", before)
        exported = archives.export()
        before.owner.run("DELETE FROM memories")
        for _ in range(2):
            archives.bring_back(exported)
        assert _Adopted(pool, "ns", before).export() == exported
    outcomes = _send_again(before, store_of(store, "ns"))
    assert {outcome.state for outcome in outcomes} == {IngestState.DUPLICATE}


class _Adopted(Archives):
    """The operations that export and restore need, on the adopted database."""

    def __init__(self, pool: Pool, namespace: str, old: OldDatabase) -> None:
        super().__init__(pool, namespace)
        self.store = memories_in(pool, namespace, old.space)
        self._embedder = old.embedder

    def restore(self, namespace: str, memories: list[ArchivedMemory]) -> int:
        """Restore memories in the embedding space of the adopted database."""
        return self.archive_of(namespace).restore(memories, lambda space: self._embedder)


def test_a_dimension_that_differs_from_the_settings_is_refused_and_nothing_changes(old: Old) -> None:
    before, _ = old
    wrong = EmbeddingSpace("gemini", before.space.model, 1536)
    with pytest.raises(Misconfigured, match=f"embeddings of dimension {before.space.dimension}, the settings say 1536"):
        migrations.migrate(before.owner, migrations.schema_files(), space=wrong)
    assert before.owner.run("SELECT count(*) FROM public.memories") == [[len(CONTENTS)]]


def test_rows_without_an_embedding_are_counted_in_the_error_and_nothing_changes(old: Old) -> None:
    before, _ = old
    before.owner.run("UPDATE memories SET embedding = NULL WHERE id = :id", id=before.ids[0])
    with pytest.raises(Misconfigured, match="1 of the memories to adopt lack"):
        migrations.migrate(before.owner, migrations.schema_files(), space=before.space)
    assert before.owner.run("SELECT count(*) FROM public.memories") == [[len(CONTENTS)]]
