"""Log lines are written even if other code in the process configures logging; causes are grouped."""

import io
import json
import logging
import logging.config
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemosyne.domain.principal import Scope
from mnemosyne.observability import EventLog, configure_logging, normalize_cause


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root, loggers = logging.root, logging.root.manager.loggerDict
    handlers, level = root.handlers[:], root.level
    disabled = {name for name, logger in loggers.items() if getattr(logger, "disabled", False)}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in loggers:
        logging.getLogger(name).disabled = name in disabled


def test_a_logger_disabled_by_the_functions_framework_is_enabled_again() -> None:
    """With LOG_EXECUTION_ID set, functions-framework calls dictConfig, which disables the existing loggers."""
    log = EventLog("mnemosyne.a_module_that_was_imported_before")
    logging.config.dictConfig({"version": 1, "root": {"level": "WARNING"}})
    written = io.StringIO()
    configure_logging("INFO", written)
    log.info("it_happened")
    assert json.loads(written.getvalue())["event"] == "it_happened"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("\ud800 é", "\ud800 é"),
        (2**70, 2**70),
        ({1: "x"}, {"1": "x"}),
        (Path("a/b"), "a/b"),
        (Scope.READ, "read"),
        (("a", 1), ["a", 1]),
    ],
)
def test_a_field_of_any_type_is_logged(value: object, written: object) -> None:
    stream = io.StringIO()
    configure_logging("INFO", stream)
    EventLog("mnemosyne.fields").info("it_happened", value=value)
    assert json.loads(stream.getvalue())["value"] == written


UNCHANGED = f"the database holds embeddings of gemini-embedding-001 {'m' * 150} at dimension 768"


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (UNCHANGED, UNCHANGED),
        ("schema_version 9 is newer than 1", "schema_version 9 is newer than 1"),
        ("the request 01a21807-d082-728f-948e-999a8fc13768 failed", "the request # failed"),
        ("5 of 1,032 texts in 2.5 s", "# of # texts in # s"),
        ("message 12345678901234567, project-123456789012", "message #, project-#"),
        ("0001_baseline.sql failed", "#_baseline.sql failed"),
    ],
)  # fmt: skip
def test_a_grouped_cause_keeps_models_dimensions_and_versions_but_no_ids_or_counts(cause: str, expected: str) -> None:
    assert normalize_cause(cause) == expected


def test_a_bug_is_logged_with_its_line_of_code_and_without_its_message() -> None:
    written = io.StringIO()
    configure_logging("INFO", written)
    try:
        raise RuntimeError("a secret")
    except RuntimeError:
        EventLog("mnemosyne.bug").exception("it_crashed")
    line = json.loads(written.getvalue())
    assert line["cause"] == "a bug in Mnemosyne: RuntimeError"
    assert "test_observability.py, line " in line["error"]
    assert "secret" not in line["cause"] + line["error"] + line["next_step"]
    assert "roll back" in line["next_step"]
