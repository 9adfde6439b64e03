"""Lists in the documents are the same as the corresponding lists in the code."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from pydantic import BaseModel

from mnemosyne.cli.main import cli
from mnemosyne.domain.chronicle import TAG_COUNT, TAG_LIMIT, TITLE_LIMIT
from mnemosyne.domain.memory import CONTENT_LIMIT
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.metadata import METADATA_BYTES
from mnemosyne.domain.parsing import KEY_LIMIT, SESSION_LIMIT, SOURCE_LIMIT
from mnemosyne.domain.principal import Scope
from mnemosyne.errors import Conflict, InvalidRequest, Misconfigured, NotFound, OverBudget, OverQuota, Unauthorized
from mnemosyne.http.console.site import PAGES
from mnemosyne.mcp import tool_errors
from mnemosyne.mcp.tool import Tool
from mnemosyne.mcp.tool_errors import error_code
from mnemosyne.mcp.tools import CONSOLE_NAMES, TOOLS, by_name
from mnemosyne.mcp.tools.search import Debug, SearchResponse
from mnemosyne.settings import Settings

ROOT = Path(__file__).parents[2]
DATABASE = ROOT / "functions" / "mnemosyne" / "db"
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/reference").glob("*.md"))]


def _text(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_headings_of_a_document_are_distinct(document: Path) -> None:
    headings = re.findall(r"^#+ (?:[0-9]+ )?(.+)$", document.read_text(), re.MULTILINE)
    assert [heading for heading, times in Counter(headings).items() if times > 1] == []


@pytest.mark.parametrize(
    ("documents", "pattern", "names"),
    [
        (("reference/cli.md",), r"(?m)^\|[^|]*`{}\b", [*cli.commands]),
        (("reference/identity.md",), r"\| `{}`", [*get_args(Settings.model_fields["auth_mode"].annotation)]),
        (("operations.md", "glossary.md", "reference/identity.md"), "`{}`", [*Scope]),
        (("reference/identity.md",), "`{}`", [*PAGES]),
        (("console.md",), "`{}", sorted({f"/{path.split('/')[1]}" for path in PAGES} - {"/console"})),
    ],
    ids=["commands", "ways to authenticate", "scopes", "paths of the console", "pages of the console"],
)
def test_a_document_lists_each_name(documents: tuple[str, ...], pattern: str, names: list[str]) -> None:
    assert len(names) >= 4
    for document in documents:
        missing = [name for name in names if not re.search(pattern.format(re.escape(name)), _text(document))]
        assert missing == [], document


def _rows(text: str) -> dict[str, str]:
    """Return the rows of all tables in a text, by the name at the beginning of the row."""
    return {row[1]: row[0] for row in re.finditer(r"^\| `(\w+)[`(].*$", text, re.MULTILINE)}


def _of_tools() -> tuple[dict[str, str], dict[str, str]]:
    """Return the rows of the table of unlisted arguments, and the rows that describe the tools."""
    unlisted, _, described = _text("reference/tools.md").partition("\n## ")
    return _rows(unlisted), _rows(described)


def _code(text: str) -> set[str]:
    """Return the words that are marked as code or in bold. In the tables of tools, required arguments are in bold."""
    return {word for code in re.findall(r"`[^`]+`|\*\*\w+\*\*", text) for word in re.findall(r"\w+", code)}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield a model and the models of its fields."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from _models(field.annotation)
    for argument in get_args(annotation):
        yield from _models(argument)


def test_the_reference_lists_each_argument_of_each_tool() -> None:
    _, rows = _of_tools()
    rows["memory_search"] = _text("reference/search.md")
    filters = _code(rows["list_memories"])
    missing = {}
    for name, tool in by_name().items():
        row = rows[name] + (rows["ingest_memory"] if "with the same fields" in rows[name] else "")
        documented = _code(row) | (filters if "filters of `list_memories`" in row else set())
        missing[name] = tool.schema.get("properties", {}).keys() - documented - {"timezone"}
    assert {name: names for name, names in missing.items() if names} == {}


def test_the_reference_lists_exactly_the_arguments_that_are_not_listed_for_agents() -> None:
    rows, _ = _of_tools()
    documented = {tool.name: _code(rows[tool.name]) - {tool.name} for tool in TOOLS if tool.unlisted}
    assert documented == {tool.name: set(tool.unlisted) for tool in TOOLS if tool.unlisted}


@pytest.mark.parametrize("tool", by_name().values(), ids=lambda tool: tool.name)
def test_the_reference_names_each_field_of_the_result_of_a_tool(tool: Tool[Any]) -> None:
    named = _code(_text("reference/tools.md") + _text("reference/search.md") + _text("clients.md"))
    fields = {field for model in _models(tool.result) if model is not Debug for field in model.model_fields}
    assert fields - named == set()


def test_the_reference_shows_the_arguments_of_a_search_with_their_defaults() -> None:
    signature = re.search(r"`memory_search\((.*?)\)`", _text("reference/search.md"), re.DOTALL)
    assert signature
    shown = dict(argument.strip().removesuffix("?").partition("=")[::2] for argument in signature[1].split(","))
    fields = by_name()["memory_search"].schema["properties"]
    assert shown == {name: json.dumps(field["default"]) if "default" in field else "" for name, field in fields.items()}


def test_the_reference_shows_all_fields_of_the_answer_of_a_search() -> None:
    _, rows = _of_tools()
    shown = re.search(r"`\{(memories[^`]*)\}`", rows["memory_search"])
    assert shown and set(re.findall(r"\w+", shown[1])) == SearchResponse.model_fields.keys()


def test_the_reference_lists_each_table_of_the_database() -> None:
    sources = [*DATABASE.rglob("*.sql"), DATABASE.parent / "adapters" / "database" / "migrations.py"]
    statements = r"^CREATE TABLE (?:IF NOT EXISTS )?(\w+) \("
    tables = {table for file in sources for table in re.findall(statements, file.read_text(), re.MULTILINE)}
    assert len(tables) > 30
    assert tables - _code(_text("reference/ingestion.md")) == set()


def test_the_documented_required_settings_are_the_ones_that_the_error_about_missing_settings_lists() -> None:
    documented = re.findall(r"^\| `(\w+)` \| must be set", _text("settings.md"), re.MULTILINE)
    with pytest.raises(Misconfigured) as refused:
        Settings.from_environment({})
    assert documented == re.findall(r"(\w+) is not set \(", str(refused.value))


def test_the_reference_lists_each_code_of_tool_errors() -> None:
    refusals = [refusal("no") for refusal in (InvalidRequest, NotFound, OverQuota, Conflict, Unauthorized)]
    codes = {error_code(refusal).code for refusal in (*refusals, OverBudget("no", 1))}
    codes |= {value.code for value in vars(tool_errors).values() if isinstance(value, tool_errors.ErrorCode)}
    assert _rows(_text("reference/errors.md").partition("## Protocol")[0]).keys() - {"code"} == codes


def test_the_reference_lists_each_status_of_the_server() -> None:
    sources = (ROOT / "functions" / "mnemosyne" / "http" / "mcp").rglob("*.py")
    statuses = {status for file in sources for status in re.findall(r"error_response\((\d+)", file.read_text())}
    assert statuses | {"406"} <= set(re.findall(r"^\| (\d+) \|", _text("reference/errors.md"), re.MULTILINE))


def test_the_reference_names_the_console_s_tools_that_need_the_scope_operate() -> None:
    sentence = re.search(r"((?:`\w+`,?\s(?:and )?)+)need the scope\s`operate`", _text("reference/tools.md"))
    assert sentence and _code(sentence[1]) == {name for name in CONSOLE_NAMES if by_name()[name].operates}


def test_the_guide_to_ingestion_lists_each_field_with_its_limit() -> None:
    table = _text("ingestion.md").partition("| field | meaning |")[2].partition("\n\n")[0]
    assert _code(table) >= MemoryInput.model_fields.keys()
    limits = (CONTENT_LIMIT, TITLE_LIMIT, SESSION_LIMIT, TAG_COUNT, TAG_LIMIT, SOURCE_LIMIT, KEY_LIMIT)
    assert [limit for limit in limits if f" {limit:,} " not in table] == []
    assert f"{METADATA_BYTES // 1024} KiB" in table


def test_the_reference_shows_only_options_that_a_command_has() -> None:
    def options(command: click.Command) -> set[str]:
        own = {name for parameter in command.params for name in parameter.opts}
        return own.union(*map(options, command.commands.values())) if isinstance(command, click.Group) else own

    wrong = {}
    for name, rest in re.findall(r"^\| `([a-z-]+)(.*?)(?<!\\)\|", _text("reference/cli.md"), re.MULTILINE):
        command = cli.get_command(click.Context(cli), name)
        assert command, name
        wrong[name] = set(re.findall(r"--[a-z-]+", rest)) - options(command)
    assert {name: names for name, names in wrong.items() if names} == {}


def test_a_command_that_prints_an_output_of_terraform_names_the_directory() -> None:
    texts = [*DOCUMENTS, *sorted((ROOT / "terraform").rglob("*.tf"))]
    assert [path.name for path in texts if "`terraform output" in path.read_text()] == []
