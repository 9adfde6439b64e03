"""The output of `mnemosyne search`: confidence, notes and JSON."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from click.testing import Result

from tests.fakes import FakeServices
from tests.memories import store_content
from tests.tools import answer_of
from tests.unit.cli.conftest import UseServer, invoke

Search = Callable[..., Result]
UNRELATED = "zeppelin gibberish quux"


@pytest.fixture
def search(services: FakeServices, use_server: UseServer) -> Search:
    """Function that runs the command `mnemosyne search` on two memories."""
    store_content(services.memories, "The oolong is on shelf 7.", tags=("tea", "été"))
    store_content(services.memories, "Cars are fast")

    use_server(lambda tool, arguments: json.loads(json.dumps(answer_of(services, tool, **arguments))))
    return lambda *arguments: invoke("search --timezone UTC --url http://x", *arguments)


def _confidences(printed: str) -> list[str]:
    return re.findall(r"^2026-05-20  [0-9a-f-]{36}  (strong|related|weak)(?:  #|$)", printed, re.MULTILINE)


@pytest.mark.parametrize(
    ("query", "best", "noted"),
    [("The oolong is on shelf 7.", "strong", False), ("cars are fast", "strong", False), (UNRELATED, "weak", True)],
)
def test_each_result_has_its_confidence_before_the_tags(search: Search, query: str, best: str, noted: bool) -> None:
    result = search(query)
    assert _confidences(result.stdout)[0] == best and len(_confidences(result.stdout)) == 2
    assert ("Nothing close was found" in result.stderr) is noted


@pytest.mark.parametrize(
    ("query", "minimum", "contents"),
    [
        ("cars are fast", "strong", ["strong"]),
        ("cars are fast", "weak", ["strong", "weak"]),
        (UNRELATED, "related", []),
        (UNRELATED, "strong", []),
    ],
)
def test_a_minimum_leaves_out_less_close_results(search: Search, query: str, minimum: str, contents: list[str]) -> None:
    result = search(query, "--min-confidence", minimum)
    assert _confidences(result.stdout) == contents
    if not contents:
        assert result.stdout == "No memories found.\n"
        assert f"min_confidence {minimum} left out 2 hits" in result.stderr


@pytest.mark.parametrize("minimum", ["high", "0.5", ""])
def test_an_unknown_minimum_is_refused_with_the_known_ones(search: Search, minimum: str) -> None:
    result = search("tea", "--min-confidence", minimum)
    assert result.exit_code == 2
    assert "'weak', 'related', 'strong'" in result.stderr


@pytest.mark.parametrize("query", [[], [" "]])
def test_a_filter_without_a_query_lists_memories_without_a_confidence(search: Search, query: list[str]) -> None:
    (line, _) = search(*query, "--tag", "tea").stdout.splitlines()
    assert re.fullmatch(r"2026-05-20  [0-9a-f-]{36}  #tea  #été", line)
    assert len(search(*query, "--when", "May 2026").stdout.splitlines()) == 4


@pytest.mark.parametrize("query", [[], [""], [" ", ""]])
def test_a_search_needs_a_query_or_a_filter(search: Search, query: list[str]) -> None:
    result = search(*query)
    assert (result.exit_code, "give a query, --tag or --when" in result.stderr) == (2, True)


@pytest.mark.parametrize("query", ["oolong", "cars are fast", UNRELATED])
def test_json_is_the_answer_of_the_tool(search: Search, services: FakeServices, query: str) -> None:
    result = search(query, "--json")
    arguments = {"query": query, "limit": 5, "timezone": "UTC"}
    assert json.loads(result.stdout) == json.loads(json.dumps(answer_of(services, "memory_search", **arguments)))
    assert result.stderr == ""


def test_a_long_memory_ends_with_the_matching_passage_and_a_note(search: Search, services: FakeServices) -> None:
    store_content(services.memories, "Walls were painted. " * 1_000 + "The zebra key is under the pot.")
    lines = search("zebra key").stdout.splitlines()
    note = lines.index("    (cut off here; get_memory and the console show the whole memory)")
    assert lines[note - 1].startswith("    … ")
    assert "The zebra key is under the pot." in lines[note - 1]


def test_an_expiry_at_the_end_of_the_calendar_is_printed_in_each_zone(search: Search, services: FakeServices) -> None:
    end = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    store_content(services.memories, "The warranty never ends.", timestamp=end, expires_at=end)
    result = search("the warranty never ends", "--limit", "1", "--timezone", "Asia/Tokyo")
    assert result.exit_code == 0, result.exception
    assert result.stdout.startswith("9999-12-31  ") and "(expires 9999-12-31 23:59 UTC)" in result.stdout
