"""Log lines reach the log, whatever else in the process configures logging."""

import io
import json
import logging
import logging.config
from collections.abc import Iterator

import pytest

from mnemosyne.observability import EventLog, configure_logging


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root, disabled = logging.getLogger(), {}
    handlers, level = root.handlers[:], root.level
    for name, logger in logging.root.manager.loggerDict.items():
        disabled[name] = getattr(logger, "disabled", False)
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, was in disabled.items():
        logging.getLogger(name).disabled = was


def test_a_logger_that_the_framework_has_silenced_speaks_again() -> None:
    """As functions-framework does where LOG_EXECUTION_ID is set: dictConfig disables what loggers there are."""
    log = EventLog("mnemosyne.a_module_that_was_imported_before")
    logging.config.dictConfig({"version": 1, "root": {"level": "WARNING"}})
    written = io.StringIO()
    configure_logging("INFO", written)
    log.info("it_happened")
    assert json.loads(written.getvalue())["event"] == "it_happened"
