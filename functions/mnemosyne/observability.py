"""Log events as JSON lines for Cloud Logging, with the W3C trace of the request.

Contents and queries are never logged. Format: https://cloud.google.com/logging/docs/structured-logging
"""

import json
import logging
import re
import secrets
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import orjson

from mnemosyne.errors import ServiceError

TRACEPARENT = "traceparent"
_VARIES = re.compile(
    # The function `normalize_cause` replaces all matches. The first line of the expression matches ids. The second line
    # matches numbers, except in names (gemini-embedding-1), dimensions (dimension 768) and versions. The third line
    # matches numbers of five and more digits, even in names (project-123456789012).
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|(?<![a-z][-_.])(?<!\bdimension )(?<!version )(?<!\bnewer than )(?<![a-z0-9])(?<![0-9]\.)[0-9]+(?:[.,][0-9]+)*"
    r"|[0-9]{5,}",
    re.IGNORECASE,
)
CAUSE_LENGTH = 500
"""Maximum number of characters of a cause. A log-based metric has the cause as a label, which may have 1,024 bytes:
https://cloud.google.com/logging/quotas#log-based-metrics."""
WAIT = "wait some minutes; if it lasts, look up the cause in docs/runbook.md"
"""Value of `next_step` in the log for an error that may pass without action by an operator."""
DO_WHAT_IT_SAYS = "change what `error` names, and run `make deploy`"
"""Value of `next_step` for an error that persists, and whose message (the field `error`) says what to change."""
BUG = "a bug in Mnemosyne"
"""First words of the cause of a bug. `mnemosyne redrive --cause` finds the dead letters of bugs by these words."""
REPORT = (
    "if it began with a deployment, roll back: docs/deployment.md, Roll back; else open an issue in Mnemosyne's "
    "repository with the stack_trace"
)
"""Value of `next_step` in the log for a bug."""
_TRACEPARENT_FORMAT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


@dataclass(frozen=True)
class Trace:
    """A W3C trace context: https://www.w3.org/TR/trace-context/."""

    trace_id: str
    span_id: str
    flags: str = "01"

    @property
    def traceparent(self) -> str:
        """The value of the `traceparent` header for requests to other services."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"


_current: ContextVar[Trace | None] = ContextVar("trace", default=None)


def current_trace() -> Trace | None:
    """Return the trace of the current request, or None if no request is being handled."""
    return _current.get()


@contextmanager
def trace(carrier: Mapping[str, str]) -> Iterator[Trace]:
    """Continue the trace that a request's `traceparent` names; if it names none, start a new trace."""
    match = _TRACEPARENT_FORMAT.fullmatch(carrier.get(TRACEPARENT, ""))
    is_valid = match is not None and set(match[1]) != {"0"} and set(match[2]) != {"0"}
    random = secrets.token_hex(24)  # one system call for the ids of both trace and span
    trace_ = Trace(match[1], random[:16], match[3]) if match and is_valid else Trace(random[16:], random[:16])
    token = _current.set(trace_)
    try:
        yield trace_
    finally:
        _current.reset(token)


_AS_TEXT = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
"""Options with which orjson passes times and dataclasses to the function `default`. Here `default` is `str`."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str, separators=(",", ":"))


class JsonFormatter(logging.Formatter):
    """Format a log record as a line of JSON for Cloud Logging."""

    def __init__(self, project: str = "") -> None:
        super().__init__()
        self._project = project

    def format(self, record: logging.LogRecord) -> str:
        """Format the record."""
        entry: dict[str, object] = {
            "severity": record.levelname,
            "time": datetime.fromtimestamp(record.created, UTC).isoformat().removesuffix("+00:00") + "Z",
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            entry["event"] = record.msg
            entry |= {name: value for name, value in fields.items() if value not in ("", None)}
        else:
            entry |= {"logger": record.name, "message": record.getMessage()}
        if trace_ := current_trace():
            name = f"projects/{self._project}/traces/{trace_.trace_id}" if self._project else trace_.trace_id
            entry["logging.googleapis.com/trace"] = name
        if record.exc_info and record.exc_info[0]:
            entry["stack_trace"] = "".join(traceback.format_exception(*record.exc_info))
        try:
            return orjson.dumps(entry, default=str, option=_AS_TEXT).decode()
        except TypeError:  # orjson rejects lone surrogates, numbers over 64 bits, and keys that are not text
            return _ENCODER.encode(entry)


class _LineHandler(logging.StreamHandler[TextIO]):
    """Writes each log record as a line, without the steps of `StreamHandler` that would have no effect here."""

    def handle(self, record: logging.LogRecord) -> bool:
        try:
            line = f"{self.format(record)}{self.terminator}"
            with self.lock or nullcontext():
                self.stream.write(line)
                self.stream.flush()
        except Exception:  # noqa: BLE001 - like the handlers of logging: an error here must not stop the program
            self.handleError(record)
        return True


def normalize_cause(cause: str) -> str:
    """Replace ids and counts in a cause by `#`, so that equal causes have equal texts.

    Numbers in the names of models, numbers of dimensions and version numbers are kept, because they distinguish causes.
    """
    return _VARIES.sub("#", cause)[:CAUSE_LENGTH]


def bug(exc: BaseException | None) -> dict[str, str]:
    """Return the log fields of a bug: `cause`, `error` and `next_step`.

    `error` is the place of the bug in the code. The exception's message is left out, because it may quote a memory.
    """
    frames = traceback.extract_tb(exc.__traceback__) if exc else []
    ours = [frame for frame in frames if "mnemosyne" in frame.filename] or frames
    place = f"{Path(ours[-1].filename).name}, line {ours[-1].lineno}, in {ours[-1].name}" if ours else "no traceback"
    return {"cause": f"{BUG}: {type(exc).__name__}", "error": place, "next_step": REPORT}


def fault_fields(exc: ServiceError, *, otherwise: str = WAIT) -> dict[str, str]:
    """Return the log fields of a service error: `cause`, `error` and `next_step`.

    `otherwise` is the next step of a temporary error, if the error itself has no next step.
    """
    next_step = exc.next_step or (DO_WHAT_IT_SAYS if exc.needs_operator else otherwise)
    return {"cause": normalize_cause(exc.cause), "error": str(exc), "next_step": next_step}


def milliseconds(since: float) -> float:
    """Return the milliseconds since a value of `time.perf_counter`."""
    return round((time.perf_counter() - since) * 1000, 3)


Listener = Callable[[str, Mapping[str, object]], None]
_listeners: list[Listener] = []
_flushes: list[Callable[[], None]] = []


def listen(listener: Listener, flush: Callable[[], None]) -> None:
    """Call the listener for every later event, whatever the log level. `flush` is called once before the process ends.

    The functions `listener` and `flush` must not raise errors.
    """
    _listeners.append(listener)
    _flushes.append(flush)


def flush() -> None:
    """Flush all listeners. May block for a few seconds."""
    while _flushes:
        _flushes.pop()()


class EventLog:
    """A logger of named events: `log.info("memory_stored", request_id=…, duration_ms=…)`."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, **fields: object) -> None:
        """Log an event that only repeats facts from another log line of the same request."""
        self._log(logging.DEBUG, event, fields)

    def info(self, event: str, **fields: object) -> None:
        """Log an expected event."""
        self._log(logging.INFO, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        """Log a retry or a rejected request, with `cause`, `error` and `next_step`."""
        self._log(logging.WARNING, event, fields)

    def error(self, event: str, **fields: object) -> None:
        """Log a failure that an operator must fix, with `cause`, `error` and `next_step`."""
        self._log(logging.ERROR, event, fields)

    def exception(self, event: str, **fields: object) -> None:
        """Log the current exception as a bug, with its place and its traceback. Callers see neither of the two."""
        self._log(logging.ERROR, event, bug(sys.exc_info()[1]) | fields, exc_info=True)

    def fault(self, event: str, exc: ServiceError, otherwise: str = WAIT, /, **fields: object) -> None:
        """Log a service error as a warning, and also as the error `operator_needed` if an operator must act.

        `otherwise` is the next step of a temporary error, if the error itself has no next step.
        """
        about = fields | fault_fields(exc, otherwise=otherwise)
        self.warning(event, **about)
        if exc.needs_operator:
            self.error("operator_needed", during=event, **about)

    def _log(self, level: int, event: str, fields: dict[str, object], *, exc_info: bool = False) -> None:
        if self._logger.isEnabledFor(level):
            # `Logger.log` is not used, because this method searches the stack for the caller's line, which log events
            # do not contain.
            traceback_ = sys.exc_info() if exc_info else None
            record = logging.LogRecord(self._logger.name, level, "", 0, event, None, traceback_)
            record.fields = fields
            self._logger.handle(record)
        for listener in _listeners:
            listener(event, fields)


def notify(event: str, **fields: object) -> None:
    """Pass an event to the listeners without logging it."""
    for listener in _listeners:
        listener(event, fields)


def configure_logging(level: str, stream: TextIO = sys.stderr, *, project: str = "") -> None:
    """Write the logs of the process to a stream as JSON: Mnemosyne's events from `level` up, and warnings of libraries.

    `project` is the Google Cloud project that stores the traces. A log line names it in the id of its trace.
    """
    # Do not look up the thread and the process of each record, because the log lines do not contain them.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = _LineHandler(stream)
    handler.setFormatter(JsonFormatter(project))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("mnemosyne").setLevel(level)
    # If LOG_EXECUTION_ID is set, as on Google Cloud, functions-framework configures logging after it has imported this
    # module, and thereby disables all existing loggers. Therefore enable Mnemosyne's loggers again.
    for name, logger in logging.root.manager.loggerDict.items():
        if isinstance(logger, logging.Logger) and name.split(".")[0] == "mnemosyne":
            logger.disabled = False
