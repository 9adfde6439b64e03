"""The operations of an operator, by name, and how one is run and audited."""

from typing import Any, Final

from mnemosyne.domain.parsing import parse
from mnemosyne.errors import InvalidRequest
from mnemosyne.observability import EventLog
from mnemosyne.ports.operator import Operator
from mnemosyne.service.operations import access, dead_letters, export, keys, outcomes, system
from mnemosyne.service.operations.operation import Operation

log = EventLog(__name__)

_OPERATIONS: Final[tuple[type[Operation], ...]] = (
    keys.CreateKey,
    keys.ListKeys,
    keys.RevokeKey,
    access.ListGrants,
    access.RevokeGrants,
    access.ListPeople,
    access.BlockPerson,
    access.UnblockPerson,
    access.ListQuotas,
    access.SetQuota,
    dead_letters.ListDeadLetters,
    dead_letters.CountDeadLetters,
    dead_letters.FindDeadLetters,
    dead_letters.ShowDeadLetter,
    dead_letters.DropDeadLetters,
    dead_letters.RedriveDeadLetters,
    outcomes.ListOutcomes,
    outcomes.ListOutcomesOfKeys,
    outcomes.CountWaiting,
    export.ExportMemories,
    system.Examine,
    system.Migrate,
    system.ShowSchema,
    system.BeginMove,
    system.FillMove,
    system.IndexMove,
    system.SwitchMove,
    system.AbandonMove,
    system.MeasureRecall,
)
OPERATIONS: Final = {operation.action: operation for operation in _OPERATIONS}


def read_operation(action: object, arguments: object) -> Operation:
    """Parse the name and the arguments of an operation. Raises InvalidRequest."""
    if not isinstance(action, str) or action not in OPERATIONS:
        raise InvalidRequest(
            f"operation must be one of {', '.join(OPERATIONS)}, got {str(action)[:80]!r}: the deployment and the "
            "command line have different versions"
        )
    return parse(OPERATIONS[action], arguments, of=action)


def run(operation: Operation, operator: Operator, caller: str) -> dict[str, Any]:
    """Run an operation for a caller, and log who ran it."""
    try:
        answer = operation.run(operator)
    except Exception as exc:
        log.info("audit", action=operation.action, principal=caller, outcome="failed", error=type(exc).__name__)
        raise
    about = {name: value for name, value in operation.audited(answer).items() if value is not None}
    log.info("audit", action=operation.action, principal=caller, outcome="done", **about)
    return answer
