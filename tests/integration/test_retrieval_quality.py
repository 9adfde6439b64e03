"""Hybrid search earns it: on conversations it finds more than meaning or words alone, with sessions more still."""

from benchmarks.retrieval import OURS, Collection, run


def test_hybrid_finds_more_than_either_side_alone_on_conversations() -> None:
    collection = Collection.read("conversations", OURS["conversations"])
    assert len(collection.documents) >= 200
    assert len(collection.questions) >= 100
    recall = {name: figures["recall@10"] for name, figures in run(collection, "offline", weights=False).items()}
    assert recall["hybrid, without sessions"] > max(recall["semantic"], recall["full text"])
    assert recall["hybrid"] > recall["hybrid, without sessions"]
    assert recall["hybrid"] == recall["hybrid, after ANALYZE"]
