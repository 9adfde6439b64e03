"""Searches, statistics and `doctor` warn if the embedder does not know the languages of memories or of the query."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.memory_database import MemoryDatabase
from mnemosyne.adapters.embedders.offline import SPACE, OfflineEmbedder
from mnemosyne.cli.local import postgres
from mnemosyne.cli.main import cli
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.message import IngestMessage
from mnemosyne.service import ingest
from tests.fakes import FAKE_SPACE, FakeServices, memories_in, request, store_of
from tests.memories import store_contents
from tests.shared_database import SharedDatabase
from tests.tools import answer_of, call_tool, text_of

EMBEDDER = OfflineEmbedder()
ENGLISH = [f"The invoice {n} is in the blue folder of the office" for n in range(18)]
OTHERS = ["Die Rechnung liegt im roten Ordner und ist bezahlt", "請求書は青いフォルダにあります。"]
GERMAN = "Wo ist die Rechnung und wer hat sie bezahlt?"


def _services(memories: MemoryStore, monkeypatch: pytest.MonkeyPatch, provider: str) -> FakeServices:
    """Return services whose database has the vectors of this provider of embeddings."""
    space = EmbeddingSpace(provider, FAKE_SPACE.model, FAKE_SPACE.dimension)
    monkeypatch.setattr(MemoryDatabase, "embedding_space", property(lambda self: space))
    return FakeServices(memories)


@pytest.mark.parametrize("tool", ["memory_search", "retrieve_memories"])
@pytest.mark.parametrize(
    ("contents", "query", "warning"),
    [
        (ENGLISH, "where is the invoice", None),
        (ENGLISH, GERMAN, "the query is in German"),
        (ENGLISH, "請求書はどこですか", "the query is in Japanese"),
        (ENGLISH + OTHERS, "where is the invoice", "10% of the sampled memories are in German, Japanese"),
        (OTHERS, "invoice", "100% of the sampled memories are in German, Japanese"),
    ],
)
def test_a_search_warns_once_if_the_offline_embedder_does_not_know_the_language(
    memories: MemoryStore,
    monkeypatch: pytest.MonkeyPatch,
    tool: str,
    contents: list[str],
    query: str,
    warning: str | None,
) -> None:
    store_contents(memories, *contents)
    services = _services(memories, monkeypatch, "offline")
    expected = warning and f"the embedder offline knows English only, and {warning}"
    assert answer_of(services, tool, query=query).get("degraded") == expected
    if warning:
        texts = [block.text for block in call_tool(services, tool, query=query).content if block.type == "text"]
        assert "".join(texts).count(warning) == 1


def test_a_search_with_an_embedder_for_many_languages_does_not_warn(
    memories: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_contents(memories, *OTHERS)
    services = _services(memories, monkeypatch, "gemini")
    assert "degraded" not in answer_of(services, "memory_search", query=GERMAN)
    assert "warning" not in answer_of(services, "memory_stats")


def test_exact_searches_and_lists_do_not_warn(memories: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store_contents(memories, *OTHERS)
    services = _services(memories, monkeypatch, "offline")
    for arguments in ({"query": "roten", "mode": "exact"}, {"after": "2020-01-01"}):
        assert "degraded" not in answer_of(services, "memory_search", **arguments)


def test_statistics_count_the_languages_and_name_the_remedy(
    memories: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_contents(memories, *ENGLISH, *OTHERS)
    stats = answer_of(_services(memories, monkeypatch, "offline"), "memory_stats")
    assert stats["languages"] == {"en": 18, "de": 1, "ja": 1}
    assert "10% of the sampled memories are in German, Japanese" in stats["warning"]
    assert "`mnemosyne reembed --model multilingual-e5-small-q4 --dimension 384`" in stats["warning"]
    assert text_of(call_tool(FakeServices(memories), "memory_stats"))


def test_memories_of_other_namespaces_cause_no_warning(memories: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store_contents(store_of(memories, "another"), *OTHERS)
    stats = answer_of(_services(memories, monkeypatch, "offline"), "memory_stats")
    assert (stats["languages"], "warning" in stats) == ({}, False)


@pytest.mark.parametrize(
    ("contents", "user", "expected", "is_warning"),
    [
        ([], postgres.RUNTIME_USER, "none detected, of 0 sampled memories", False),
        (ENGLISH, postgres.RUNTIME_USER, "en 18, of 18 sampled memories", False),
        (ENGLISH + OTHERS, postgres.RUNTIME_USER, "10% of the sampled memories are in German, Japanese", True),
        (OTHERS, "mcp", "not checked", False),
    ],
)
def test_doctor_warns_and_succeeds(
    cluster: postgres.EmbeddedPostgres,
    migrated: Callable[[EmbeddingSpace], str],
    contents: list[str],
    user: str,
    expected: str,
    is_warning: bool,
    tmp_path: Path,
) -> None:
    with closing(SharedDatabase(cluster, migrated(SPACE))) as database:
        database.empty()
        if contents:
            message = IngestMessage("ns", tuple(request(content) for content in contents))
            memories = memories_in(database.pool, space=SPACE)
            ingest.store(message, memories=memories, embedder=EMBEDDER)
    url = cluster.url(user, migrated(SPACE))
    environment = {"MNEMOSYNE_DATABASE_URL": url, "MNEMOSYNE_TOPIC": f"file://{tmp_path}/queue.db"}
    result = CliRunner().invoke(cli, ["doctor", "--json"], env=environment)
    (check,) = [check for check in json.loads(result.stdout) if check["name"] == "languages"]
    assert expected in check["seen"]
    assert (check["ok"], check["warning"], bool(check["remedy"])) == (True, is_warning, is_warning)
    printed = CliRunner().invoke(cli, ["doctor"], env=environment)
    assert ("warn   languages" in printed.stdout, printed.stdout.count("→")) == (is_warning, int(is_warning))
