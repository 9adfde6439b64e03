"""Hybrid search earns its place: on conversations it finds more than meaning or words alone."""

from pathlib import Path

from benchmarks.retrieval import ROOT, Collection, run
from mnemosyne.adapters.embedders.offline import SPACE
from mnemosyne_cli.local import postgres
from mnemosyne_cli.local.data_dir import DataDir


def test_hybrid_finds_more_than_either_side_alone_on_conversations(tmp_path: Path) -> None:
    collection = Collection.read("conversations", ROOT / "tests" / "data" / "conversations")
    assert len(collection.documents) >= 200
    assert len(collection.questions) >= 100
    server = postgres.start(DataDir.at(str(tmp_path)))
    try:
        postgres.prepare(server, SPACE)
        results = run(collection, server, tmp_path, weights=False)
    finally:
        server.stop()
    recall = {name: figures["recall@10"] for name, figures in results.items()}
    assert recall["hybrid"] > recall["semantic"]
    assert recall["hybrid"] > recall["full text"]
