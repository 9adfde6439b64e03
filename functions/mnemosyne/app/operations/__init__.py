"""The operations of an operator by name, and the functions that run and audit an operation."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic_core import to_jsonable_python

from mnemosyne.adapters.identity.tokens import OidcVerifier
from mnemosyne.app.operations import (
    access,
    change_feed,
    dead_letters,
    export,
    forgetting,
    holds,
    outcomes,
    retention,
    system,
)
from mnemosyne.app.operations.operation import Operation
from mnemosyne.app.operator import SystemOperator, record
from mnemosyne.domain import audit as audit_trail
from mnemosyne.domain.parsing import parse
from mnemosyne.domain.principal import Principal
from mnemosyne.errors import InvalidRequest, MnemosyneError, ServiceError
from mnemosyne.observability import EventLog
from mnemosyne.service.callers import GCLOUD_AUDIENCE, operator_of
from mnemosyne.settings import Settings

log = EventLog(__name__)

_MODULES: Final = (access, retention, forgetting, holds, change_feed, dead_letters, outcomes, export, system)
OPERATIONS: Final[Mapping[str, type[Operation]]] = {
    operation.action: operation
    for module in _MODULES
    for operation in vars(module).values()
    if isinstance(operation, type) and issubclass(operation, Operation) and operation.action
}
"""The class of each operation, by its name (`action`)."""


def read_operation(action: object, arguments: object) -> Operation:
    """Parse the name and the arguments of an operation. Raises InvalidRequest."""
    if not isinstance(action, str) or action not in OPERATIONS:
        raise InvalidRequest(
            f"operation must be one of {', '.join(OPERATIONS)}, got {str(action)[:80]!r}: the deployment and the "
            "command line have different versions"
        )
    return parse(OPERATIONS[action], arguments, of=action)


def run(operation: Operation, operator: SystemOperator, caller: str) -> dict[str, Any]:
    """Run an operation for a caller, and record the caller and the operation in the audit trail.

    Returns the answer in JSON types. For example, times are text.
    """
    principal = Principal(id=caller, namespace="", scopes=frozenset())
    try:
        with audit_trail.action(principal, operation.action) as action:
            answer: dict[str, Any] = to_jsonable_python(operation.run(operator))
    except Exception as exc:
        log.info("audit", action=operation.action, principal=caller, outcome="failed", error=type(exc).__name__)
        if isinstance(exc, MnemosyneError) and not isinstance(exc, ServiceError):
            fields = {"namespace": vars(operation).get("namespace"), "ids": audit_trail.ids_of(vars(operation))}
            record(operator.audit, {**action.columns, **fields, "outcome": "refused"})
        raise
    if not operation.is_recorded(answer):
        return answer
    about = {name: value for name, value in operation.audit_fields(answer).items() if value is not None}
    outcome = "dry_run" if about.pop("dry_run", False) else "done"
    log.info("audit", action=operation.action, principal=caller, outcome=outcome, **about)
    if not action.recorded:
        _record_operation(operator, action, about, outcome)
    return answer


def _record_operation(
    operator: SystemOperator, action: audit_trail.Action, about: dict[str, Any], outcome: str
) -> None:
    """Record an operation in the audit trail. Called if the operation's own transaction has not recorded it."""
    ids = [about[name] for name in ("key", "person", "client", "message_id", "forgetting", "hold") if about.get(name)]
    for name in ("grants", "message_ids"):
        ids += about.get(name, [])
    fields = {"namespace": about.get("namespace"), "ids": ids, "count": about.get("count", len(ids))}
    record(operator.audit, {**action.columns, **fields, "outcome": outcome})


def run_operations(settings: Settings) -> Callable[[str, Any, str], dict[str, Any]]:
    """Return a function that runs operations on the system in the settings.

    The function takes the name and the arguments of an operation, and the identity token of the caller.
    """
    operator = SystemOperator(settings)
    verifier = OidcVerifier(settings.push_issuer, GCLOUD_AUDIENCE)

    def run_operation(action: str, arguments: Any, token: str) -> dict[str, Any]:
        return run(read_operation(action, arguments), operator, operator_of(verifier, token))

    return run_operation
