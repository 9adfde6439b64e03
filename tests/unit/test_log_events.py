"""Log events of faults: each has the required fields, and the runbook lists each event."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from click.testing import CliRunner

from mnemosyne.adapters.service_error_tables import TABLES
from mnemosyne.adapters.service_errors import Kind
from mnemosyne.cli.main import cli
from mnemosyne.domain.dead_letter import DeadLetterKind
from tests.log_events import LISTED, WITHOUT_ERROR

ROOT = Path(__file__).parents[2]
CODE = ROOT / "functions" / "mnemosyne"
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
SAID = ("cause", "error", "next_step")


class Logged(NamedTuple):
    """A call in the code that logs an event with the severity WARNING or ERROR."""

    event: str
    place: str
    fields: frozenset[str]


class Source(NamedTuple):
    """A file of the code, and the nodes of its syntax tree, of which the first is the module."""

    place: str
    nodes: list[ast.AST]


# The files are parsed when a test needs them, and not at import: every worker of a test run imports this module, and
# parsing takes half a second of CPU time. Files without these words are not parsed.
WORDS = re.compile(r"\blog\.(warning|error|fault|exception)|next_step|otherwise|Check\(|report\(|event:")


@cache
def _sources() -> list[Source]:
    texts = {str(file.relative_to(CODE)): file.read_text() for file in sorted(CODE.rglob("*.py"))}
    return [Source(place, list(ast.walk(ast.parse(text)))) for place, text in texts.items() if WORDS.search(text)]


@pytest.fixture(scope="module", autouse=True)
def _forget_sources() -> Iterator[None]:
    """Free the syntax trees after the last test of this file: they slow down each collection of garbage."""
    yield
    _sources.cache_clear()


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _calls(source: Source) -> Iterator[tuple[str, str, ast.Call]]:
    """Yield each call whose first argument is a text, with the name of the function and the place."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and node.args and _is_text(node.args[0]):
            match node.func:
                case ast.Name(id=name):
                    yield name, f"{source.place}:{node.lineno}", node
                case ast.Attribute(value=ast.Name(id=owner), attr=name):
                    yield f"{owner}.{name}", f"{source.place}:{node.lineno}", node


def _logged() -> Iterator[Logged]:
    for source in _sources():
        for function, place, call in _calls(source):
            if function not in ("log.warning", "log.error", "log.fault", "log.exception"):
                continue
            starred = " ".join(ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg is None)
            is_fault = function in ("log.fault", "log.exception")
            has_all = is_fault or re.search(r"fault_fields|bug\(|\babout\b", starred)
            fields = {keyword.arg or "" for keyword in call.keywords} | (set(SAID) if has_all else set())
            yield Logged(ast.literal_eval(call.args[0]), place, frozenset(fields))


def _named_by_helpers() -> Iterator[Logged]:
    """Events that are passed to `report`, or to a function of the same file whose first parameter is `event`."""
    for source in _sources():
        functions = [node for node in source.nodes if isinstance(node, ast.FunctionDef) and node.args.args]
        helpers = {node.name for node in functions if node.args.args[0].arg == "event"} | {"report", "self._report"}
        for function, place, call in _calls(source):
            if function in helpers:
                yield Logged(ast.literal_eval(call.args[0]), place, frozenset(SAID))


@cache
def _events() -> list[Logged]:
    return [*_logged(), *_named_by_helpers()]


def test_an_event_that_is_passed_to_a_helper_function_is_collected() -> None:
    helped = {line.event for line in _named_by_helpers()}
    assert helped == {"migration_failed", "operation_failed", "expiry_failed", "announcement_failed"}


def test_each_log_line_of_a_fault_has_cause_error_and_next_step() -> None:
    assert len(_events()) > 40
    wrong = []
    for line in _events():
        missing = set(SAID) - line.fields - ({"error"} if line.event in WITHOUT_ERROR else set())
        if missing and line.event not in LISTED:
            wrong.append((line.place, line.event, sorted(missing)))
    assert wrong == []


def test_the_lists_in_this_test_name_only_events_that_are_logged() -> None:
    assert {line.event for line in _events()} >= LISTED.keys() | WITHOUT_ERROR.keys()


def test_the_runbook_lists_each_event_of_a_fault() -> None:
    assert sorted({line.event for line in _events() if f"`{line.event}`" not in RUNBOOK}) == []


@cache
def _next_steps() -> dict[str, str]:
    """Return the texts in the code that tell an operator what to do. The key of each text names its place in the code.

    The texts are in the error tables, in the kinds of dead letters, and in arguments of calls.
    """
    rules = [(table, rule) for table, rules in TABLES.items() for rule in rules]
    steps = {f"{table} {rule.codes} {rule.message}": rule.next_step for table, rule in rules}
    steps |= {f"dead letter {kind}": kind.next_step for kind in DeadLetterKind}
    for source in _sources():
        module = source.nodes[0]
        assert isinstance(module, ast.Module)
        constants = {
            target.id: ast.literal_eval(node.value)
            for node in module.body
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and _is_text(node.value)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        for node in source.nodes:
            if isinstance(node, ast.Call) and _is_name(node.func, "Check") and len(node.args) > 2:
                steps |= {f"{source.place}:{node.lineno} Check": _text_of(node.args[2], constants)}
            if isinstance(node, ast.keyword) and node.arg in ("next_step", "otherwise"):
                place = f"{source.place}:{node.value.lineno}"
                steps[place] = _text_of(node.value, constants)
    return {place: step for place, step in steps.items() if step}


def _text_of(node: ast.expr, constants: dict[str, str]) -> str:
    """Return the text of an expression that is a constant or the name of a constant."""
    if isinstance(node, ast.Name):
        return constants.get(node.id, "")
    return str(ast.literal_eval(node)) if _is_text(node) else ""


LOCAL = ("`mnemosyne migrate`", "`mnemosyne dev`")
"""Commands that need no `--project`, because they are for people who use no Terraform and thus have no project."""


def test_a_command_in_a_next_step_is_in_the_runbook_and_names_the_project() -> None:
    assert len(_next_steps()) > 40
    for place, step in _next_steps().items():
        for command in re.findall(r"`((?:mnemosyne|make|gcloud) [^`]+)`", step):
            words = re.match(r"(?:mnemosyne|make|gcloud)(?: [a-z][a-z-]*)+", command)
            assert words, place
            assert words[0] in RUNBOOK, (place, command)
            if f"`{command}`" in LOCAL:
                assert place.startswith("cli/local/") or "without Terraform, " in step, place
            elif command.startswith("mnemosyne "):
                assert "--project MY-PROJECT" in command, place


def test_a_next_step_that_needs_the_migration_runs_it() -> None:
    """A next step cannot rely on `make deploy` alone.

    It runs the migration only after a change of its inputs (tests/terraform/test_migration.py).
    """
    migrating = r"applies the migrations|restores the (rights|schema)|grants the role"
    steps = {place: step for place, step in _next_steps().items() if re.search(migrating, step)}
    assert len(steps) > 5
    for place, step in steps.items():
        assert "run `mnemosyne migrate --project MY-PROJECT`, which" in step, place


def test_a_step_or_a_fix_in_the_runbook_that_changes_a_terraform_variable_mentions_make_deploy() -> None:
    files = (ROOT / "terraform" / "modules" / "mnemosyne").glob("variables*.tf")
    variables = {name for file in files for name in re.findall(r'^variable "(\w+)"', file.read_text(), re.MULTILINE)}
    for place, step in _next_steps().items():
        named = {*re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", step)} & variables
        changed = re.search(r"\b(set|raise|lower|correct|leave)\b", step)
        assert not (named and changed) or "make deploy" in step, place
    fixes = re.findall(r"\*\*Fix\*\*: (.+)", RUNBOOK)
    assert fixes
    for fix in fixes:
        named = {name.split(".")[0] for name in re.findall(r"`([a-z_.]+)(?: = [^`]*)?`", fix)} & variables
        assert not named or "make deploy" in fix, fix


def test_the_runbook_quotes_the_cause_of_each_permanent_error() -> None:
    lasting = [rule for rules in TABLES.values() for rule in rules if rule.kind in (Kind.PERMANENT, Kind.MISCONFIGURED)]
    assert lasting
    for rule in lasting:
        cause = re.sub(r"\{(\w+)\}", lambda name: name[1].upper(), rule.cause)
        quoted = re.sub(r" (WHERE|TOPIC|OBJECT)$| WHERE(?= )", "", cause)
        assert re.sub(r"^WHERE", "the database", quoted) in RUNBOOK


def test_a_documented_operator_command_exists_and_names_project_and_namespace() -> None:
    texts = [RUNBOOK, *_next_steps().values()]
    documented = {command for text in texts for command in re.findall(r"`(mnemosyne [^`]+)`", text)}
    commands = {command for command in documented if f"`{command}`" not in LOCAL}
    assert commands
    for command in sorted(commands):
        _, *words = shlex.split(command)
        group: click.Command = cli
        while isinstance(group, click.Group) and words:
            found_command = group.get_command(click.Context(group), words.pop(0))
            assert found_command, command
            group = found_command
        typed = re.sub(r"\b(DIMENSION|NUMBER)\b", "768", command)
        # The command fails with the code 1, because there is no gcloud, and not with the code 2 of wrong options.
        assert CliRunner(env={"PATH": ""}).invoke(cli, shlex.split(typed)[1:]).exit_code == 1, command
        context = group.make_context("mnemosyne", words, resilient_parsing=True)
        assert context.params["project"] == "MY-PROJECT", command
        for option in group.params:
            if option.name == "namespace" and option.default == "default":
                # The command must name the namespace, because an incident is rarely in the default namespace.
                assert "--namespace " in command, command
