"""Base class of an operation: a request of an operator, and the code that answers it."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ValidationError

from mnemosyne.domain.parsing import Input, invalid
from mnemosyne.ports.operator import Operator


class Operation(Input):
    """A request of an operator. The command line and the `migrate` function run the same operations.

    An operation is short, because workflows and functions have time limits: one with much to do answers a page, with
    `after` as the beginning of the next page.
    """

    action: ClassVar[str]
    """Name of the operation, in requests and in the audit log."""
    changes: ClassVar[bool] = False
    """Whether it changes something."""
    as_owner: ClassVar[bool] = False
    """Whether it needs the rights of the role that owns the schema."""

    if not TYPE_CHECKING:  # a type checker sees the fields as arguments

        def __init__(self, **values: Any) -> None:
            """Build the operation from its fields. Raises InvalidRequest."""
            try:
                super().__init__(**values)
            except ValidationError as exc:
                raise invalid(exc, type(self), self.action) from exc

    @abstractmethod
    def run(self, operator: Operator) -> dict[str, Any]:
        """Run the operation and return its answer, of JSON types. Raises the errors of `mnemosyne.errors`."""

    def is_recorded(self, answer: dict[str, Any]) -> bool:
        """Whether the audit trail has the operation. A poll that has found nothing new is left out."""
        return True

    def audited(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the fields for the audit log: ids and counts, no contents."""
        return {}
