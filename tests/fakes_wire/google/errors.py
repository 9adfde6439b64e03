"""Refusals as Google sends them: https://cloud.google.com/apis/design/errors and google/rpc/error_details.proto."""

from typing import Any

Answer = tuple[int, Any]

CODES = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ALREADY_EXISTS"}


def refused(status: int, message: str, code: str = "", details: list[dict[str, Any]] | None = None) -> Answer:
    """A google.rpc.Status over HTTP, as every One Platform API answers."""
    error: dict[str, Any] = {"code": status, "message": message, "status": code or CODES[status]}
    return status, {"error": error | ({"details": details} if details else {})}


def refused_of_old(status: int, message: str, reason: str) -> Answer:
    """The older JSON error of Compute Engine, Cloud SQL and Cloud Storage, with `errors` in place of `details`."""
    errors = [{"message": message, "domain": "global", "reason": reason}]
    return status, {"error": {"code": status, "message": message, "errors": errors}}


def enabling_denied(*services: str) -> Answer:
    """Response of Service Usage to a caller without permission to enable a service. Token and numbers are examples."""
    message = "\n".join(f"Permission denied to enable service [{service}]" for service in services)
    violation = {"type": "googleapis.com", "subject": "?error_code=110002&services=" + "&services=".join(services)}
    failure = {"@type": "type.googleapis.com/google.rpc.PreconditionFailure", "violations": [violation]}
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "AUTH_PERMISSION_DENIED",
        "domain": "serviceusage.googleapis.com",
    }
    return refused(403, f"{message}\nHelp Token: AXcLsyA", details=[failure, info])
