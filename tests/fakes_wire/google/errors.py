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


def error_info(reason: str, domain: str, **metadata: str) -> dict[str, Any]:
    """A google.rpc.ErrorInfo."""
    info: dict[str, Any] = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": domain}
    return info | ({"metadata": metadata} if metadata else {})


def permission_denied(permission: str, resource: str, domain: str) -> Answer:
    """What IAM answers through an API: https://cloud.google.com/iam/docs/permission-error-messages."""
    message = f"Permission '{permission}' denied on resource '//{domain}/{resource}' (or it may not exist)."
    info = error_info("IAM_PERMISSION_DENIED", domain, permission=permission, resource=resource)
    return refused(403, message, details=[info])


def enabling_denied(*services: str) -> Answer:
    """Response of Service Usage to a caller without permission to enable a service. Token and numbers are examples."""
    message = "\n".join(f"Permission denied to enable service [{service}]" for service in services)
    violation = {"type": "googleapis.com", "subject": "?error_code=110002&services=" + "&services=".join(services)}
    failure = {"@type": "type.googleapis.com/google.rpc.PreconditionFailure", "violations": [violation]}
    info = error_info("AUTH_PERMISSION_DENIED", "serviceusage.googleapis.com")
    return refused(403, f"{message}\nHelp Token: AXcLsyA", details=[failure, info])
