"""Base class of an operation: a request of an operator, and the code that answers it."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ValidationError

from mnemosyne.app.operator import SystemOperator
from mnemosyne.domain.parsing import Input, invalid


class Operation(Input):
    """A request of an operator. The command line and the service `migrate` run the same operations.

    An operation is short, because workflows and services have time limits. An operation with much to do returns one
    page, and in `after` the beginning of the next page.
    """

    action: ClassVar[str]
    """Name of the operation in requests and in the audit trail."""
    changes: ClassVar[bool] = False
    """Whether the operation changes data."""
    as_owner: ClassVar[bool] = False
    """Whether the operation needs the rights of the role that owns the schema."""
    counted: ClassVar[str] = ""
    """Field of the answer whose number or length the audit trail has as the count, together with the namespace."""

    if not TYPE_CHECKING:  # a type checker then sees the fields as parameters

        def __init__(self, **values: Any) -> None:
            """Build the operation from the values of its fields. Raises InvalidRequest."""
            try:
                super().__init__(**values)
            except ValidationError as exc:
                raise invalid(exc, type(self), self.action) from exc

    @abstractmethod
    def run(self, operator: SystemOperator) -> dict[str, Any]:
        """Run the operation, and return its answer as JSON types. Raises the errors of `mnemosyne.errors`."""

    def is_recorded(self, answer: dict[str, Any]) -> bool:
        """Whether the audit trail records the operation. A poll without results is not recorded."""
        return True

    def audited(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the fields for the audit trail: ids and numbers, but no contents."""
        if not self.counted:
            return {}
        counted = answer[self.counted]
        count = counted if isinstance(counted, int) else len(counted)
        return {"namespace": vars(self)["namespace"], "count": count}
