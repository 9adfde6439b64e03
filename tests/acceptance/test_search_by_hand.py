"""Searches of a running system: long memories, time expressions, ratings and old tool names."""

from typing import Any

import pytest

from tests.dev import DevServer


def test_the_last_paragraph_of_a_long_memory_is_found_first(dev: DevServer) -> None:
    filler = "\n\n".join(
        f"Paragraph {n}. The committee discussed the agenda, the minutes and the budget of department {n % 13}."
        for n in range(200)
    )
    answer = "Finally, the password of the greenhouse irrigation controller was changed to marigold seventeen."
    content = f"{filler[:20_000]}\n\n{answer}"
    memory_id = dev.outcome(dev.ingest(content, tags=["long"]))["memory_id"]
    for n in range(20):
        dev.outcome(dev.ingest(f"The committee discussed department {n} and its greenhouse budget.", tags=["long"]))
    for mode in ("semantic", "hybrid"):
        arguments = {
            "query": "What is the greenhouse irrigation controller's password?",
            "mode": mode,
            "tags": ["long"],
        }
        memories = dev.call("memory_search", arguments)["memories"]
        assert memories[0]["id"] == memory_id, mode
        assert [memory["id"] for memory in memories].count(memory_id) == 1


def test_ratings_change_the_order_only_of_searches_with_quality_boost(dev: DevServer) -> None:
    ids = [
        dev.outcome(dev.ingest(f"the zebra plan, {text}", tags=["zebra"]))["memory_id"]
        for text in ("one", "two words more")
    ]
    query: dict[str, Any] = {"query": "the zebra plan, one", "tags": ["zebra"], "quality_boost": 0}
    before = [memory["id"] for memory in dev.call("memory_search", query)["memories"]]
    assert before == ids
    for _ in range(4):  # one caller has one rating
        dev.call("rate_memory", {"id": ids[1], "rating": 1, "reason": "it helped"})
        dev.call("rate_memory", {"id": ids[0], "rating": -1})
    assert [memory["id"] for memory in dev.call("memory_search", query)["memories"]] == before
    boosted = dev.call("memory_search", {**query, "quality_boost": 1.0})["memories"]
    assert [memory["id"] for memory in boosted] == ids[::-1]
    assert boosted[0]["score"] == boosted[0]["quality"] == pytest.approx(2 / 3)


def test_debug_output_names_the_strategy_and_the_time_window(dev: DevServer) -> None:
    dev.outcome(dev.ingest("debuggable"))
    result = dev.call("memory_search", {"query": "x", "mode": "hybrid", "include_debug": True, "after": "2020-01-01"})
    assert result["debug"]["strategy"] in ("exact+fulltext", "hnsw+fulltext")  # depends on the number of memories
    assert result["debug"]["window"] == result["window"]
    assert result["debug"]["embedding_model"] == "wordllama-l2-supercat-256"


def test_an_old_tool_name_works_and_names_its_replacement(dev: DevServer) -> None:
    dev.outcome(dev.ingest("remembered under an old name"))
    result = dev.call_raw("retrieve_memory", {"query": "remembered under an old name", "n_results": 1})
    assert "memory_search" in result["_meta"]["mnemosyne/deprecated"]
    assert result["structuredContent"]["memories"][0]["content"] == "remembered under an old name"
    listed = dev.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).json()["result"]["tools"]
    assert "retrieve_memory" not in {tool["name"] for tool in listed}


def test_memory_stats_counts_the_stored_memories(dev: DevServer) -> None:
    before = dev.call("memory_stats", {})["memories"]
    dev.outcome(dev.ingest("counted"))
    stats = dev.call("memory_stats", {})
    assert stats["memories"] == before + 1
    assert stats["embedding_dimension"] == 256
