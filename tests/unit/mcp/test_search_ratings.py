"""Ratings and the order of the hits in the answers of each search tool."""

import json
from typing import Any

import pytest

from mnemosyne.domain.search import HYBRID_QUALITY_WEIGHT
from tests.fakes import FakeServices
from tests.memories import rate, store_content
from tests.tools import answer_of, call_tool, text_of

QUERY = "how to restart the gateway"


@pytest.fixture
def rated(services: FakeServices) -> FakeServices:
    """Services with three memories.

    One is closest to the query, but was rated as wrong. One was rated as helpful, and one is about another subject.
    """
    rejected = store_content(services.memories, "Restart the gateway with kill -9")
    helpful = store_content(services.memories, "Restart the gateway with systemctl, then look at its log")
    store_content(services.memories, "Cars are fast")
    rate(services.memories, rejected, -1)
    rate(services.memories, helpful, 1)
    return services


@pytest.mark.parametrize("tool", ["memory_search", "retrieve_memories", "search", "recall_for_hook"])
def test_a_helpful_memory_ranks_before_a_rejected_one_in_every_tool(rated: FakeServices, tool: str) -> None:
    text = text_of(call_tool(rated, tool, **{"prompt" if tool == "recall_for_hook" else "query": QUERY}))
    assert -1 < text.index("systemctl") < text.index("kill -9")


@pytest.mark.parametrize("arguments", [{}, {"days_back": 36_500}, {"min_confidence": "related", "limit": 1}])
def test_retrieve_memories_has_the_order_and_scores_of_memory_search(
    rated: FakeServices, arguments: dict[str, Any]
) -> None:
    found = answer_of(rated, "retrieve_memories", query=QUERY, **arguments)["memories"]
    arguments = {"after": "2020-01-01"} if "days_back" in arguments else arguments
    expected = answer_of(rated, "memory_search", query=QUERY, **arguments)["memories"]
    assert [(hit["id"], hit["score"]) for hit in found] == [(hit["id"], hit["score"]) for hit in expected]
    for hit in found:
        weighted = (1 - HYBRID_QUALITY_WEIGHT) * hit["relevance"] + HYBRID_QUALITY_WEIGHT * hit["quality"]
        assert hit["score"] == pytest.approx(weighted), json.dumps(hit)
