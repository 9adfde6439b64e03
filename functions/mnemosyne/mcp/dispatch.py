"""Run a tool: parse its arguments, convert exceptions to tool errors for the agent, and log the call.

If a result contains text of memories, a notice follows and warns the agent that others stored this text.
"""

import time
from collections.abc import Mapping
from typing import Any

import mcp_types
from pydantic_core import to_json

from mnemosyne.domain import audit
from mnemosyne.domain.parsing import parse
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.errors import (
    EmbeddingModelChanged,
    Misconfigured,
    MnemosyneError,
    PartialChange,
    ServiceError,
    StatementTimeout,
    UncertainCommit,
    UncertainPublication,
)
from mnemosyne.mcp.coerce import coerce_arguments
from mnemosyne.mcp.hits import stored_text_notice
from mnemosyne.mcp.tool import Reply, Tool
from mnemosyne.mcp.tool_errors import error_code, failure
from mnemosyne.observability import EventLog, current_trace, milliseconds, notify, trace
from mnemosyne.ports.services import Services

log = EventLog(__name__)

AUDITED = {name: name for name in ("id", "ids", "message_id", "request_id", "request_ids")} | {
    "forgetting_id": "forgetting"
}
"""Fields of a tool's result that are copied to the log event `audit`, with their names in this event. The event is
logged for each change."""
DEPRECATED_META = "mnemosyne/deprecated"


def call(
    tool: Tool[Any], arguments: Mapping[str, Any], principal: Principal, services: Services
) -> mcp_types.CallToolResult:
    """Run a tool and log the call. Errors become tool errors that the agent can read."""
    if current_trace() is None:  # over stdio, no HTTP request has begun a trace, so begin one
        with trace({}):
            return call(tool, arguments, principal, services)
    started = time.perf_counter()
    with audit.action(principal, tool.name) as action:
        outcome, result = _run(tool, arguments, action, services)
    caller = {"principal": principal.id, "client": principal.client, "namespace": principal.namespace}
    if outcome == "done" and not tool.read_only:
        caller = {}  # this event need not name the caller, because the event `audit` of the same call does
    log.info("tool_called", tool=tool.name, **caller, outcome=outcome, duration_ms=milliseconds(started))
    notify(
        audit.ACCESS,
        **action.columns,
        namespace=principal.namespace,
        outcome=outcome,
        ids=action.ids if result.is_error else audit.ids_of(result.structured_content or {}),
        recorded=action.recorded and outcome == "done",
        is_read=tool.scope is Scope.READ,
    )
    if tool.deprecated is None:
        return result
    changes: dict[str, Any] = {"meta": {**(result.meta or {}), DEPRECATED_META: tool.deprecated}}
    if result.is_error and isinstance(error := result.content[0], mcp_types.TextContent):
        changes["content"] = [mcp_types.TextContent(type="text", text=f"{error.text}\n{tool.deprecated}")]
    return result.model_copy(update=changes)


def _run(
    tool: Tool[Any], arguments: Mapping[str, Any], action: audit.Action, services: Services
) -> tuple[str, mcp_types.CallToolResult]:
    """Run a tool; return the outcome for the log, and the result."""
    principal = action.principal
    try:
        parsed_arguments = parse(tool.arguments, coerce_arguments(arguments, tool.schema), of=tool.name)
        action.ids = audit.ids_of(vars(parsed_arguments))
        try:
            reply = tool.run(parsed_arguments, principal, services)
        except EmbeddingModelChanged:  # run the tool again: `services` now has the embedder of the new model
            reply = tool.run(parsed_arguments, principal, services)
    except Exception as exc:  # noqa: BLE001 - `_handle_error` logs and classifies every exception
        return _handle_error(exc, tool, principal)
    if reply.is_dry_run:
        return "dry_run", success(reply)
    if not tool.read_only:
        _log_change(tool, reply, principal)
    return "done", success(reply)


def _handle_error(error: Exception, tool: Tool[Any], principal: Principal) -> tuple[str, mcp_types.CallToolResult]:
    """Log an error; return the outcome for the log, and the tool error for the agent."""
    about = {"tool": tool.name, "namespace": principal.namespace}
    if isinstance(error, UncertainCommit | PartialChange):
        log.fault("tool_uncertain", error, **about)
        if not tool.read_only:
            about = audit.logged_caller(principal) | {"namespace": principal.namespace}
            log.info("audit", action=tool.name, **about, outcome="uncertain")
        text = error.cause if isinstance(error, PartialChange) else error
        outcome, message = "uncertain", f"read what was changed before you call again: {text}"
    elif isinstance(error, ServiceError):
        log.fault("tool_unavailable", error, **about)
        outcome = "misconfigured" if isinstance(error, Misconfigured) else "unavailable"
        message = _unavailable_text(error, tool)
    elif isinstance(error, MnemosyneError):
        log.info("tool_refused", **about, error=type(error).__name__)
        outcome, message = "refused", "; ".join(filter(None, [str(error), tool.refused]))
    else:  # a bug: the details are logged, but not shown to the agent
        log.exception("tool_crashed", **about)
        outcome = "crashed"
        message = (
            "internal error; it has been logged, and calling again with the same arguments will likely fail the "
            f"same way. Trace id: {_current_trace_id()}"
        )
    return outcome, failure(message, error_code(error))


def _unavailable_text(error: ServiceError, tool: Tool[Any]) -> str:
    if isinstance(error, UncertainPublication):
        return f"temporarily unavailable, try again shortly, which stores nothing twice: {error}"
    if isinstance(error, Misconfigured):
        return f"the server is misconfigured; its log has the reason under trace id {_current_trace_id()}"
    if error.needs_operator:
        log_hint = f"the log has the next step under trace id {_current_trace_id()}"
        return f"unavailable until the server's operator acts, nothing was changed: {error.cause}; {log_hint}"
    text = str(error)
    if isinstance(error, StatementTimeout):
        # Leave out the error's next step, because it is for the operator, who finds it in the log. The caller can only
        # repeat the call so that it reads less.
        text = error.cause
        text += ": narrow the search by time or tags, or ask for less" if tool.scope is Scope.READ else ""
    return f"temporarily unavailable, nothing was changed, try again shortly: {text}"


def _log_change(tool: Tool[Any], reply: Reply, principal: Principal) -> None:
    """Log the caller of a change and the ids in its result, without contents."""
    result = reply.result.model_dump(mode="json")
    ids = {logged: result[name] for name, logged in AUDITED.items() if name in result}
    about = audit.logged_caller(principal) | {"namespace": principal.namespace}
    log.info("audit", action=tool.name, **about, outcome="done", **ids)


def _current_trace_id() -> str:
    trace = current_trace()
    return trace.trace_id if trace else "none"


def success(reply: Reply) -> mcp_types.CallToolResult:
    """Build the MCP result from a reply. The MCP result has the reply's text and its structured content.

    If the reply has stored text, a second block warns the agent that others have stored the text in the first block.
    The second block also has the server's notes.
    """
    structured_content = reply.result.model_dump(mode="json")
    text = reply.text if reply.text is not None else to_json(structured_content).decode()
    notes = [stored_text_notice(text), *reply.notes] if reply.has_stored_text else reply.notes
    blocks = [text, "\n".join(notes)] if notes else [text]
    return mcp_types.CallToolResult(
        content=[mcp_types.TextContent(type="text", text=block) for block in blocks],
        structured_content=structured_content,
    )
