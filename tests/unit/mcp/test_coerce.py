"""Unambiguous arguments are converted; others are rejected by name."""

import re
import time
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from google.genai._mcp_utils import mcp_to_gemini_tool

from mnemosyne.mcp.coerce import coerce_arguments
from mnemosyne.mcp.tool import Tool
from mnemosyne.mcp.tools import DEPRECATED_TOOLS, TOOLS
from tests.fakes import FakeServices
from tests.memories import store_content
from tests.tools import answer_of, error_of

BY_NAME = {tool.name: tool for tool in (*TOOLS, *DEPRECATED_TOOLS)}
WORDS = {
    "additionalProperties", "anyOf", "default", "description", "enum", "format", "items", "maxItems", "maxLength",
    "maximum", "minItems", "minLength", "minimum", "properties", "required", "type", "const",
}  # fmt: skip
"""The keywords of JSON Schema 2020-12 that the tools need:
https://json-schema.org/draft/2020-12/json-schema-validation."""
ID = "0192f3a4-643f-7f9f-8bdd-01b104fff04f"
MEMORY = {"content": "Ada drinks tea", "timestamp": "2026-05-20T12:00:00Z"}


def _schemas(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for name, inner in node.items():
            for inner_schema in inner.values() if name == "properties" else [inner]:
                yield from _schemas(inner_schema)


def _read(tool: str, **arguments: Any) -> dict[str, Any]:
    return coerce_arguments(arguments, BY_NAME[tool].schema)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_tool_schemas_use_only_keywords_of_json_schema(tool: Tool[Any]) -> None:
    for schema in (tool.listing.input_schema, tool.listing.output_schema):
        assert schema
        jsonschema.Draft202012Validator.check_schema(schema)
        assert {word for inner_schema in _schemas(schema) for word in inner_schema} <= WORDS


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_gemini_library_accepts_the_argument_schemas(tool: Tool[Any]) -> None:
    declarations = mcp_to_gemini_tool(tool.listing).function_declarations
    assert declarations and declarations[0].parameters
    properties = declarations[0].parameters.properties or {}
    assert set(properties) == set(tool.listing.input_schema["properties"])
    required = tool.listing.input_schema.get("required", ())
    assert set(declarations[0].parameters.required or ()) == set(required)


@pytest.mark.parametrize("tool", BY_NAME.values(), ids=BY_NAME)
def test_an_argument_has_one_type_because_frameworks_fail_on_several_and_may_be_null(tool: Tool[Any]) -> None:
    for schema in (*_schemas(tool.schema), *_schemas(tool.listing.input_schema)):
        assert isinstance(schema["type"], str) and "anyOf" not in schema
        assert all(isinstance(choice, str) for choice in schema.get("enum", ()))
        assert coerce_arguments(dict.fromkeys(schema.get("properties", ())), schema) == {}


@pytest.mark.parametrize("empty", [None, "", []])
def test_an_empty_optional_argument_is_treated_as_absent(empty: object) -> None:
    everything = dict.fromkeys(BY_NAME["memory_search"].arguments.model_fields, empty)
    assert _read("memory_search", **everything | {"query": "tea"}) == {"query": "tea"}
    memories = [{**MEMORY, "tags": empty, "title": empty, "metadata": empty}]
    assert _read("ingest_memories", memories=memories) == {"memories": [MEMORY]}


@pytest.mark.parametrize(
    ("tool", "written", "meant"),
    [
        ("memory_search", {"limit": "3"}, {"limit": 3}),
        ("memory_search", {"limit": 3.0}, {"limit": 3}),
        ("memory_search", {"quality_boost": "0.5"}, {"quality_boost": 0.5}),
        ("memory_search", {"include_debug": "True"}, {"include_debug": True}),
        ("memory_search", {"mode": "Hybrid"}, {"mode": "hybrid"}),
        ("memory_search", {"tags": "ada, tea"}, {"tags": ["ada", "tea"]}),
        ("memory_search", {"tags": '["ada", "tea"]'}, {"tags": ["ada", "tea"]}),
        ("memory_search", {"metadata": {"path": "a", "values": "x, y"}},
         {"metadata": [{"path": "a", "values": ["x, y"]}]}),
        ("memory_search", {"metadata": "[]", "tags": "[]"}, {}),
        ("memory_search", {"metadata": '{"path": "a", "values": ["x"]}'},
         {"metadata": [{"path": "a", "values": ["x"]}]}),
        ("ingest_memories", {"memories": "Ada drinks tea"}, {"memories": [{"content": "Ada drinks tea"}]}),
        ("ingest_memories", {"memories": ["a", {"content": "b"}]}, {"memories": [{"content": "a"}, {"content": "b"}]}),
        ("ingest_memories", {"memories": ["{broken", 5]}, {"memories": ["{broken", 5]}),
        ("ingest_memories", {"memories": '{"memories": [{"content": "x"}]}'}, {"memories": [{"content": "x"}]}),
        ("memory_search", {"metadata": {"metadata": [{"path": "a"}]}}, {"metadata": [{"path": "a"}]}),
        ("ingest_memories", {"memories": '```json\n[{"content": "x"}, {"content": "y"}]\n```\n'},
         {"memories": [{"content": "x"}, {"content": "y"}]}),
        ("ingest_memories", {"memories": '```json \r\n\n{"content": "x"}```'}, {"memories": [{"content": "x"}]}),
        ("ingest_memories", {"memories": '```json\n{"port": 80}\n```'},
         {"memories": [{"content": '```json\n{"port": 80}\n```'}]}),
        ("ingest_memory", {"metadata": '{"a": 1}'}, {"metadata": {"a": 1}}),
        ("update_memory", {"add_tags": "ada, tea", "remove_tags": "a,b"},
         {"add_tags": ["ada", "tea"], "remove_tags": ["a", "b"]}),
        ("delete_memory", {"ids": "x, y"}, {"ids": ["x", "y"]}),
        ("rate_memory", {"rating": "-1"}, {"rating": -1}),
        ("ingest_status", {"request_ids": f"[{ID}]"}, {"request_ids": [ID]}),
        ("ingest_status", {"request_id": f" [{ID}] "}, {"request_id": ID}),
        ("get_memory", {"id": f"`{ID}`"}, {"id": ID}),
        ("get_memory", {"id": f"[{ID}"}, {"id": f"[{ID}"}),
        ("ingest_memory", {"content": f"[{ID}]"}, {"content": f"[{ID}]"}),
        ("update_memory", {"superseded_by": f"[memory://{ID}]"}, {"superseded_by": ID}),
        ("delete_memory", {"ids": [f"[{ID}]", f"memory://{ID}"]}, {"ids": [ID, ID]}),
    ],
)  # fmt: skip
def test_only_an_argument_with_one_meaning_is_converted(
    tool: str, written: dict[str, Any], meant: dict[str, Any]
) -> None:
    assert _read(tool, **written) == meant


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("ingest_memory", "op"), ("ingest_memory", "ttl"), ("ingest_memory", "pinned"), ("ingest_memory", "timezone"),
        ("ingest_memory", "schema_version"), ("ingest_memory", "request_id"), ("memory_search", "mode"),
        ("memory_search", "min_confidence"), ("memory_search", "after"), ("list_memories", "order"),
        ("list_memories", "time_expr"), ("list_requests", "state"), ("update_memory", "expires_at"),
    ],
)  # fmt: skip
def test_an_error_quotes_a_value_in_the_case_that_was_written(services: FakeServices, tool: str, name: str) -> None:
    required = {"ingest_memory": MEMORY, "memory_search": {"query": "tea"}, "update_memory": {"id": ID}}
    assert "QuX Zed" in error_of(services, tool, **required.get(tool, {}), **{name: "QuX Zed"})


@pytest.mark.parametrize("tags", ["['ada', 'tea']", '["ada", "tea"', " [ada]"])
@pytest.mark.parametrize("tool", ["memory_search", "ingest_memory", "ingest_memories", "update_memory"])
def test_tags_that_begin_with_a_bracket_and_are_not_json_are_refused_by_every_tool(tool: str, tags: str) -> None:
    others = {"memory_search": {"query": "tea"}, "ingest_memory": MEMORY, "update_memory": {"id": ID}}
    arguments = {"memories": [MEMORY | {"tags": tags}]} if tool == "ingest_memories" else others[tool] | {"tags": tags}
    assert "tags must be an array of strings" in error_of(FakeServices(), tool, **arguments)


@pytest.mark.parametrize("no_tags", [[], "[]", "", None])
def test_empty_or_null_labels_do_not_change_a_memory(services: FakeServices, no_tags: object) -> None:
    memory_id = store_content(services.memories, "Ada drinks tea", tags=("ada",), metadata={"a": 1})
    empty: dict[str, Any] = {"tags": no_tags, "metadata": None, "superseded_by": ""}
    changed = answer_of(services, "update_memory", id=str(memory_id), title="Tea", **empty)
    assert (changed["tags"], changed["metadata"]) == (["ada"], {"a": 1})


FILTERS: list[tuple[str, dict[str, Any], str]] = [
    ("memory_search", {"query": "tea"}, "tags"),
    ("list_memories", {}, "tags"),
    ("retrieve_memories", {"query": "tea"}, "tags"),
    ("memory_facets", {}, "tags"),
    ("export_memories", {}, "tags"),
    ("export_memories", {}, "ids"),
    ("forget_memories", {"session": "s"}, "tags"),
    ("forget_memories", {"session": "s"}, "ids"),
    ("update_memory", {"id": ID}, "tags"),
    ("update_memory", {"id": ID}, "add_tags"),
    ("update_memory", {"id": ID, "add_tags": ["a"]}, "remove_tags"),
    ("delete_memory", {}, "ids"),
    ("ingest_status", {}, "request_ids"),
]


@pytest.mark.parametrize("separators", [",", " ", " ,\t, "])
@pytest.mark.parametrize(("tool", "others", "name"), FILTERS)
def test_separators_alone_do_not_mean_everything(tool: str, others: dict[str, Any], name: str, separators: str) -> None:
    expected = f"{name} must be an array of {'ids' if name.endswith('ids') else 'strings'}"
    assert error_of(FakeServices(), tool, **others, **{name: separators}).startswith(expected)


@pytest.mark.parametrize("blank", [[" "], ["a", ""]])
@pytest.mark.parametrize(("tool", "others", "name"), FILTERS)
def test_a_blank_item_is_refused_by_its_place(tool: str, others: dict[str, Any], name: str, blank: list[str]) -> None:
    assert re.search(rf"\b{name}\[\d\] must", error_of(FakeServices(), tool, **others, **{name: blank}))


@pytest.mark.parametrize("name", ["add_tags", "remove_tags"])
@pytest.mark.parametrize("named", [{"id": ID}, {"ids": [ID]}])
def test_the_advice_about_an_empty_change_of_tags_names_the_argument(name: str, named: dict[str, Any]) -> None:
    assert name in error_of(FakeServices(), "update_memory", **named, **{name: []})


def test_memories_given_as_text_cost_as_much_as_memories_given_as_an_array() -> None:
    memories = [MEMORY] * 3
    text = str(memories).replace("'", '"')
    units_of = BY_NAME["ingest_memories"].units_of
    assert units_of({"memories": text}) == units_of({"memories": memories}) > 0


@pytest.mark.parametrize("text", ["```" + "\n" * 500_000 + "x", "```json" + " " * 500_000 + "x", "[" * 500_000])
@pytest.mark.parametrize("name", ["memories", "tags"])
def test_the_time_for_a_text_does_not_grow_with_the_square_of_its_length(name: str, text: str) -> None:
    tool = "ingest_memories" if name == "memories" else "memory_search"
    before = time.thread_time()
    _read(tool, **{name: text})
    assert time.thread_time() - before < 5.0
