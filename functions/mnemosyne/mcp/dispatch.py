"""Run one tool: its arguments read, its errors made what an agent can act on, its answer framed, and all logged."""

import json
import time
from collections.abc import Mapping
from typing import Any

import mcp_types

from mnemosyne.domain.parsing import parse
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.errors import EmbeddingModelChanged, Misconfigured, MnemosyneError, ServiceError, Uncertain
from mnemosyne.mcp.coerce import plain
from mnemosyne.mcp.hits import stored_by_someone
from mnemosyne.mcp.tool import Reply, Tool
from mnemosyne.mcp.tool_errors import error_code, failure
from mnemosyne.observability import EventLog, current_trace, milliseconds, trace
from mnemosyne.ports.services import Services

log = EventLog(__name__)

DEPRECATED_META = "mnemosyne/deprecated"
REFUSED = "refused"
"""How a call went whose caller can mend it."""


def call(
    tool: Tool[Any], arguments: Mapping[str, Any], principal: Principal, services: Services
) -> mcp_types.CallToolResult:
    """Run one tool; what an agent can mend, or try again, comes back as a tool error for it to read."""
    return call_with_outcome(tool, arguments, principal, services)[1]


def call_with_outcome(
    tool: Tool[Any], arguments: Mapping[str, Any], principal: Principal, services: Services
) -> tuple[str, mcp_types.CallToolResult]:
    """Run one tool; how it went, as the log has it, and its result."""
    if current_trace() is None:  # over stdio every call is a trace of its own
        with trace({}):
            return call_with_outcome(tool, arguments, principal, services)
    started = time.perf_counter()
    outcome, result = _called(tool, arguments, principal, services)
    log.info(
        "tool_called", tool=tool.name, namespace=principal.namespace, outcome=outcome, duration_ms=milliseconds(started)
    )
    if tool.deprecated is None:
        return outcome, result
    meta = {**(result.meta or {}), DEPRECATED_META: tool.deprecated}
    if result.is_error and isinstance(error := result.content[0], mcp_types.TextContent):
        text = mcp_types.TextContent(type="text", text=f"{error.text}\n{tool.deprecated}")
        return outcome, result.model_copy(update={"content": [text], "meta": meta})
    return outcome, result.model_copy(update={"meta": meta})


def _called(
    tool: Tool[Any], arguments: Mapping[str, Any], principal: Principal, services: Services
) -> tuple[str, mcp_types.CallToolResult]:
    about = {"tool": tool.name, "namespace": principal.namespace}
    try:
        reply = _run(tool, _arguments(tool, arguments), principal, services)
    except Uncertain as exc:
        log.warning("tool_uncertain", **about, error=str(exc))
        if tool.scope is not Scope.READ:
            log.info(
                "audit", action=tool.name, principal=principal.id, namespace=principal.namespace, outcome="uncertain"
            )
        return "uncertain", failure(f"the answer was lost, look before calling again: {exc}", error_code(exc))
    except Misconfigured as exc:
        log.fault("tool_unavailable", exc, **about)
        return "misconfigured", failure(
            f"the server is misconfigured; its operator finds how in the log under trace id {_trace_id()}",
            error_code(exc),
        )
    except ServiceError as exc:
        log.fault("tool_unavailable", exc, **about)
        if exc.needs_operator:
            return "unavailable", failure(
                f"unavailable until the server's operator acts, nothing was changed: {exc.cause}; the log has the next "
                f"step under trace id {_trace_id()}",
                error_code(exc),
            )
        message = f"temporarily unavailable, nothing was changed, try again shortly: {exc}"
        return "unavailable", failure(message, error_code(exc))
    except MnemosyneError as exc:
        log.info("tool_refused", **about, error=type(exc).__name__)
        return REFUSED, failure("; ".join(filter(None, [str(exc), tool.refused])), error_code(exc))
    except Exception as exc:  # the edge: a fault of our own is told without its inside, and logged with all of it
        log.exception("tool_crashed", **about)
        return "crashed", failure(
            "internal error; it has been logged, and calling again with the same arguments will likely fail the "
            f"same way. Trace id: {_trace_id()}",
            error_code(exc),
        )
    if tool.scope is not Scope.READ:
        _audit(tool, reply, principal)
    return "done", success(reply, stored=tool.gives_stored)


def _audit(tool: Tool[Any], reply: Reply, principal: Principal) -> None:
    """Who changed which memory: ids alone, never a content."""
    told = reply.result.model_dump(mode="json")
    ids = {name: told[name] for name in ("id", "message_id", "request_id", "request_ids") if name in told}
    log.info("audit", action=tool.name, principal=principal.id, namespace=principal.namespace, outcome="done", **ids)


def _run(tool: Tool[Any], arguments: Any, principal: Principal, services: Services) -> Reply:
    try:
        return tool.run(arguments, principal, services)
    except EmbeddingModelChanged:  # nothing was done; the embedder is another from now on
        return tool.run(arguments, principal, services)


def _arguments(tool: Tool[Any], arguments: Mapping[str, Any]) -> Any:
    return parse(tool.arguments, plain(arguments, tool.schema), of=tool.name)


def _trace_id() -> str:
    trace = current_trace()
    return trace.trace_id if trace else "none"


def success(reply: Reply, *, stored: bool) -> mcp_types.CallToolResult:
    """Return the reply as text and structure; what was `stored` by someone is framed as such."""
    structured = reply.result.model_dump(mode="json")
    text = reply.text if reply.text is not None else json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
    blocks = [text]
    if stored:
        blocks.append("\n".join([stored_by_someone(text), *reply.notes]))
    return mcp_types.CallToolResult(
        content=[mcp_types.TextContent(type="text", text=block) for block in blocks],
        structured_content=structured,
    )
