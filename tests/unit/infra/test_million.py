"""The benchmark of a million memories: the stored memories, the continued run, and the machine for the figures."""

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from infra.benchmarks.million import Batch, namespaces, plan, requests, run
from infra.benchmarks.million_measures import Machine, machine
from mnemosyne.adapters.embedders.offline import OfflineEmbedder
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.domain.chunking import chunks

CORPUS = [f"paragraph {n} about the rivers and gardens of a city that has the number {n}" for n in range(20)]
FIGURES = {
    "sizes": {
        "memories": 1_000_000,
        "chunks": 0,
        "bytes": 6e9,
        "relations": {"memories": 2e9, "memories_embedding": 1e9, "memory_words": 1e9, "memories_trigrams": 1e9},
    },
    "searches": {"hybrid": {"database_cpu_ms": 60}},
}


def test_the_batches_have_each_memory_of_each_namespace_once() -> None:
    batches = plan(2_000)
    counts = Counter(
        (batch.namespace, n) for batch in batches for n in range(batch.first, batch.first + batch.memories)
    )
    assert counts == Counter((name, n) for name, memories in namespaces(2_000).items() for n in range(memories))
    assert [batch.number for batch in batches] == list(range(len(batches)))


def test_a_million_memories_have_namespaces_of_ten_thousand_and_of_one_thousand() -> None:
    parts = namespaces(1_000_000)
    assert (parts["ten thousand"], parts["thousand"], sum(parts.values())) == (10_000, 1_000, 1_000_000)


def test_a_continued_run_stores_the_same_memories() -> None:
    assert plan(2_000) == plan(2_000)
    first, again = (requests(Batch(0, "large", 250, 250), CORPUS) for _ in range(2))
    assert [item.content_hash for item in first] == [item.content_hash for item in again]
    assert len({item.content_hash for item in first}) == 250


def test_long_memories_have_chunks_and_only_one_namespace_has_sessions() -> None:
    (long,), (session,), (large,) = (requests(Batch(0, name, 0, 1), CORPUS) for name in ("long", "sessions", "large"))
    assert len(chunks(long.embedded_text, OfflineEmbedder.chunk_limit)) > 1
    assert (long.session, session.session, large.session) == (None, "session 0", None)


def test_a_continued_run_needs_the_same_number_of_memories_and_repeats_only_the_interrupted_phase(
    tmp_path: Path,
) -> None:
    directory, begun = DataDir.at(str(tmp_path)), list[str]()

    def phase(name: str) -> dict[str, Any]:
        begun.append(name)
        if begun == ["import", "sizes"]:
            raise KeyboardInterrupt
        return {"done": name}

    phases = {name: partial(phase, name) for name in ("import", "sizes")}
    with pytest.raises(KeyboardInterrupt):
        run(directory, 2_000, phases)
    figures = run(directory, 2_000, phases)
    assert begun == ["import", "sizes", "sizes"]
    assert figures == json.loads((tmp_path / "figures.json").read_text())
    assert figures["sizes"] == {"done": "sizes"}
    with pytest.raises(SystemExit, match=r"--rows must be 2000 in .*, got 3000: choose another --directory"):
        run(directory, 3_000, {})


def test_the_price_of_a_machine_is_that_of_the_documents() -> None:
    text = (Path(__file__).parents[3] / "docs" / "deployment.md").read_text()
    assert "about 105 for the machine db-custom-2-8192 with a disk of 20 GB" in text
    assert round(Machine(2, 8, 20).price) == 105


def test_the_estimated_memory_holds_what_searches_read_and_the_disk_is_1_5_times_the_data() -> None:
    assert machine(1_000_000, FIGURES) == Machine(2, 8, 9 + 1)  # at least 8 GB of memory and 10 GB of disk
    assert machine(100_000_000, FIGURES) == Machine(38, 242, 900)  # 2 kB of each memory are read at random


def test_the_processors_of_a_machine_suffice_for_the_busiest_second() -> None:
    slow = FIGURES | {"searches": {"hybrid": {"database_cpu_ms": 600}}}
    assert machine(1_000_000, slow).processors == 12  # 11.6 searches a second of 0.6 s each, at 60 % of the processors


def test_embeddings_of_768_dimensions_need_twice_the_page_and_a_larger_element_of_the_index() -> None:
    larger, measured = machine(100_000_000, FIGURES, 768), machine(100_000_000, FIGURES)
    assert larger.disk - measured.disk == pytest.approx(1.5 * 100 * (8.192 / 2 - 2 + 8.192 / 4 - 8.192 / 10), abs=1)
    assert larger.memory - measured.memory == pytest.approx(1.2 * 100 * (8.192 / 4 - 8.192 / 10), abs=1)
