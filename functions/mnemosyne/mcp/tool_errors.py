"""Errors of tools: a sentence for the agent, and a code in `_meta` for programs.

From the code, a program knows whether to call again. The sentences may change at any time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types

from mnemosyne.errors import (
    Conflict,
    InvalidRequest,
    Misconfigured,
    MnemosyneError,
    NotFound,
    OverBudget,
    OverQuota,
    PartialChange,
    ServiceError,
    Unauthorized,
    UncertainCommit,
)

ERROR_META = "mnemosyne/error"
"""Key in a tool error's `_meta`. Its value has `code`, `retryable`, and `retry_after` in seconds where it is known."""


@dataclass(frozen=True)
class ErrorCode:
    """Machine-readable part of an error."""

    code: str
    retryable: bool = False
    """Whether the same call may succeed later, without action by an operator. False if the failed call may have changed
    something. The exception is a call that may have published a message: it can be repeated, because the memories of
    both messages are stored only once."""
    retry_after: int | None = None
    """Seconds to wait before the next attempt."""

    @property
    def meta(self) -> dict[str, Any]:
        """Value of `mnemosyne/error` in `_meta`."""
        retry = {} if self.retry_after is None else {"retry_after": self.retry_after}
        return {"code": self.code, "retryable": self.retryable, **retry}


DECLINED = ErrorCode("declined")
INTERNAL_ERROR = ErrorCode("internal_error")
MISCONFIGURED = ErrorCode("misconfigured")
OPERATOR_NEEDED = ErrorCode("operator_needed")
UNAVAILABLE = ErrorCode("unavailable", retryable=True)
UNCERTAIN = ErrorCode("uncertain")

_REFUSALS: Mapping[type[MnemosyneError], str] = {
    InvalidRequest: "invalid_request",
    NotFound: "not_found",
    OverQuota: "over_quota",
    Conflict: "conflict",
    Unauthorized: "unauthorized",
}


def error_code(error: BaseException) -> ErrorCode:
    """Return the code of an error. An error that is not a MnemosyneError is an internal error."""
    if isinstance(error, OverBudget):
        return ErrorCode("rate_limited", retryable=True, retry_after=error.seconds)
    if isinstance(error, UncertainCommit | PartialChange):
        return UNCERTAIN
    if isinstance(error, Misconfigured):
        return MISCONFIGURED
    if isinstance(error, ServiceError):
        return OPERATOR_NEEDED if error.needs_operator else UNAVAILABLE
    return next((ErrorCode(code) for kind, code in _REFUSALS.items() if isinstance(error, kind)), INTERNAL_ERROR)


def is_refusal(result: mcp_types.CallToolResult) -> bool:
    """Whether a result is an error that the caller can correct."""
    return bool(result.is_error) and (result.meta or {})[ERROR_META]["code"] in _REFUSALS.values()


def failure(message: str, code: ErrorCode) -> mcp_types.CallToolResult:
    """Build a tool error: the message is for the agent, the code for programs."""
    content = [mcp_types.TextContent(type="text", text=message)]
    return mcp_types.CallToolResult(content=content, is_error=True, meta={ERROR_META: code.meta})
