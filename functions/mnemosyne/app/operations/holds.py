"""Operations on legal holds, which keep memories from being deleted or forgotten, and from expiring."""

from typing import Annotated, Any

from pydantic import Field

from mnemosyne.app.operations.operation import Namespace, Operation, Selecting
from mnemosyne.app.operator import SystemOperator
from mnemosyne.domain.audit import current_action
from mnemosyne.domain.parsing import Filled, Id
from mnemosyne.errors import NotFound
from mnemosyne.ids import new_id

REASON_LIMIT = 500


class ListHolds(Operation, action="hold_list"):
    """List the legal holds of a namespace, or of all namespaces, the oldest first."""

    namespace: Namespace | None = None

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"holds": operator.holds.every(self.namespace)}


class PlaceHold(Selecting, action="hold_place", changes_as_owner=True):
    """Place a legal hold. The caller must then run SuspendExpiry, so that no memory under the hold expires."""

    reason: Annotated[Filled, Field(max_length=REASON_LIMIT)]
    hold: Id = Field(default_factory=new_id)
    """Id of the hold. If an operation is sent again because its answer was lost, it has the same id, so that no second
    hold is placed."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        action = current_action()
        by = action.principal.id if action else ""
        return {"id": operator.holds.place(self.namespace, self.selection, self.reason, by, hold_id=self.hold)}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"namespace": self.namespace, "hold": answer["id"]}


class SuspendExpiry(Operation, action="hold_suspend", changes_as_owner=True):
    """Suspend the expiry of stored memories that a legal hold keeps, a page at a time."""

    namespace: Namespace
    id: Id
    after: bool = False

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        suspended = operator.holds.suspend(self.namespace, self.id)
        return {"suspended": suspended, "after": suspended > 0}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"namespace": self.namespace, "hold": str(self.id), "count": answer["suspended"]}


class ReleaseHold(Operation, action="hold_release", changes_as_owner=True):
    """Release a legal hold. The caller must then run ApplyRetention, so that the memories can expire again."""

    namespace: Namespace
    id: Id

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        if not operator.holds.release(self.namespace, self.id):
            raise NotFound(f"namespace {self.namespace!r} has no hold {self.id}: see `mnemosyne holds list`")
        return {"id": self.id}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"namespace": self.namespace, "hold": answer["id"]}
