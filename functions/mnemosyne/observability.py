"""One JSON line per event in Cloud Logging's shape, with the W3C trace it belongs to.

Contents and queries are never passed here. Format: https://cloud.google.com/logging/docs/structured-logging
"""

import json
import logging
import re
import secrets
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TextIO

from mnemosyne.errors import ServiceError

TRACEPARENT = "traceparent"
_TRACEPARENT_FORMAT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


@dataclass(frozen=True)
class Trace:
    """A W3C trace context: https://www.w3.org/TR/trace-context/."""

    trace_id: str
    span_id: str
    flags: str = "01"

    @property
    def traceparent(self) -> str:
        """The header that carries this trace to the next hop."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"


_current: ContextVar[Trace | None] = ContextVar("trace", default=None)


def current_trace() -> Trace | None:
    """Return the trace of the request being served, if one is."""
    return _current.get()


@contextmanager
def trace(carrier: Mapping[str, str]) -> Iterator[Trace]:
    """Serve a request within the trace its `traceparent` names, or within a new one where it has none."""
    match = _TRACEPARENT_FORMAT.fullmatch(carrier.get(TRACEPARENT, ""))
    known = match is not None and set(match[1]) != {"0"} and set(match[2]) != {"0"}
    drawn = secrets.token_hex(24)  # at once: each drawing is a call of the system
    here = Trace(match[1], drawn[:16], match[3]) if match and known else Trace(drawn[16:], drawn[:16])
    token = _current.set(here)
    try:
        yield here
    finally:
        _current.reset(token)


class JsonFormatter(logging.Formatter):
    """Render a record as one line of JSON that Cloud Logging understands without an agent."""

    def __init__(self, project: str = "") -> None:
        super().__init__()
        self._project = project

    def format(self, record: logging.LogRecord) -> str:
        """Render the record."""
        entry: dict[str, object] = {
            "severity": record.levelname,
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "logger": record.name,
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            entry |= {"event": record.msg, "message": record.msg, **fields}
        else:
            entry["message"] = record.getMessage()
        if here := current_trace():
            name = f"projects/{self._project}/traces/{here.trace_id}" if self._project else here.trace_id
            entry |= {"logging.googleapis.com/trace": name, "logging.googleapis.com/spanId": here.span_id}
        if record.exc_info and record.exc_info[0]:
            entry["stack_trace"] = "".join(traceback.format_exception(*record.exc_info))
        return json.dumps(entry, ensure_ascii=False, default=str)


def milliseconds(since: float) -> float:
    """How long it is since then, as `time.perf_counter` counts; for a field that ends in `_ms`."""
    return round((time.perf_counter() - since) * 1000, 3)


Listener = Callable[[str, Mapping[str, object]], None]
_listeners: list[Listener] = []
_flushes: list[Callable[[], None]] = []


def listen(listener: Listener, flush: Callable[[], None]) -> None:
    """Have the listener told of every event from now on, whatever the log's level; neither may raise.

    `flush` is called once, before the process ends.
    """
    _listeners.append(listener)
    _flushes.append(flush)


def flush() -> None:
    """Let the listeners send what they hold; blocks for some seconds at most."""
    while _flushes:
        _flushes.pop()()


class EventLog:
    """A logger of named events: `log.info("memory_stored", request_id=…, duration_ms=…)`."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def info(self, event: str, **fields: object) -> None:
        """Something happened as it should."""
        self._log(logging.INFO, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Something will be retried or was refused."""
        self._log(logging.WARNING, event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Something failed for good."""
        self._log(logging.ERROR, event, fields)

    def exception(self, event: str, **fields: object) -> None:
        """Log a fault of our own: the line carries the traceback that nobody outside sees."""
        self._log(logging.ERROR, event, fields, exc_info=True)

    def fault(self, event: str, exc: ServiceError, **fields: object) -> None:
        """Log a service's error as a warning, and as the error `operator_needed` if it lasts until somebody acts."""
        self.warning(event, **fields, error=str(exc))
        if exc.needs_operator:
            next_step = exc.next_step or "do what the error says"
            self.error("operator_needed", during=event, **fields, error=str(exc), next_step=next_step)

    def _log(self, level: int, event: str, fields: dict[str, object], *, exc_info: bool = False) -> None:
        if self._logger.isEnabledFor(level):
            # Made here: `log` would look through the stack for the line that called, which no event tells.
            traceback_ = sys.exc_info() if exc_info else None
            record = logging.LogRecord(self._logger.name, level, "", 0, event, None, traceback_)
            record.fields = fields
            self._logger.handle(record)
        for listener in _listeners:
            listener(event, fields)


def configure_logging(level: str, stream: TextIO = sys.stderr, *, project: str = "") -> None:
    """Send every log line of the process to a stream as JSON, ours from `level` up, others' warnings.

    `project` is the Google Cloud project that traces belong to.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter(project))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("mnemosyne").setLevel(level)
    # With LOG_EXECUTION_ID, which Google sets, functions-framework configures logging anew after it has imported us,
    # and so silences every logger that is there by then.
    for name, logger in logging.root.manager.loggerDict.items():
        if isinstance(logger, logging.Logger) and name.split(".")[0] == "mnemosyne":
            logger.disabled = False
