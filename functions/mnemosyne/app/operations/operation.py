"""Base classes of operations. An operation is an operator's request, with the code that answers it."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from mnemosyne.app.operator import SystemOperator
from mnemosyne.domain.forgetting import IDS_AT_ONCE, Selection
from mnemosyne.domain.memory import Cursor, KeysetCursor
from mnemosyne.domain.metadata_filter import Operator as Comparison
from mnemosyne.domain.metadata_filter import condition
from mnemosyne.domain.parsing import Id, Input, Instant, Session, Tags, Text, invalid
from mnemosyne.domain.search import Filters

KeyPosition = Annotated[KeysetCursor, BeforeValidator(TypeAdapter(KeysetCursor).validate_python)]
IdPosition = Annotated[Cursor, BeforeValidator(TypeAdapter(Cursor).validate_python)]
"""Position in a list: the time of the last item on the previous page, with the item's id (IdPosition) or with its text
key (KeyPosition). An operation accepts a position in the form in which an earlier answer has it."""
Namespace = Annotated[Text, Field(max_length=200)]
FilledName = Annotated[Text, Field(min_length=1, max_length=200)]


class Operation(Input):
    """A request of an operator. The command line and the function `migrate` run the same operations.

    An operation must end soon, because workflows and functions have time limits. If there is more to do, an operation
    returns one page, and the field `after` of its answer is the position of the next page.
    """

    action: ClassVar[str] = ""
    """Name of the operation in requests and in the audit trail. Empty for a class that is only a base of operations."""
    changes_as_owner: ClassVar[bool] = False
    """Whether the operation changes data with the rights of the role that owns the schema."""
    count_field: ClassVar[str] = ""
    """Field of the answer from which the audit trail takes a count. The field is a number, or a list whose length is
    the count. If the name is empty, the audit trail records no count and no namespace."""

    def __init_subclass__(
        cls, *, action: str = "", changes_as_owner: bool = False, count_field: str = "", **options: Any
    ) -> None:
        """Set the attributes that are keyword arguments in the class statement. Other attributes are inherited."""
        super().__init_subclass__(**options)
        cls.action = action or cls.action
        cls.changes_as_owner = changes_as_owner or cls.changes_as_owner
        cls.count_field = count_field or cls.count_field

    # Hide this method from type checkers, so that they check the arguments against the fields. With `**values`, they
    # would accept any argument.
    if not TYPE_CHECKING:

        def __init__(self, **values: Any) -> None:
            """Build the operation from the values of its fields. Raises InvalidRequest."""
            try:
                super().__init__(**values)
            except ValidationError as exc:
                raise invalid(exc, type(self), values, self.action) from exc

    @abstractmethod
    def run(self, operator: SystemOperator) -> dict[str, Any]:
        """Run the operation, and return its answer, which `operations.run` converts to JSON types.

        Raises the errors of `mnemosyne.errors`.
        """

    def next_page(self, after: object) -> Self:
        """Return the operation for the next page. `after` is the field `after` of the previous answer."""
        return type(self)(**dict(self) | {"after": after})

    def is_recorded(self, answer: dict[str, Any]) -> bool:
        """Whether the audit trail records the operation.

        A subclass can return false, for example if a caller polls for new outcomes and there are none.
        """
        return True

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the fields for the audit trail: ids and numbers, but no contents."""
        if not self.count_field:
            return {}
        value = answer[self.count_field]
        count = value if isinstance(value, int) else len(value)
        return {"namespace": vars(self)["namespace"], "count": count}


def values_of(result: object, *names: str) -> dict[str, Any]:
    """Return the named attributes of a result, for an answer."""
    return {name: getattr(result, name) for name in names}


class Condition(Input):
    """A condition on the metadata of memories: a path, a comparison and values."""

    path: Text
    op: Annotated[Comparison, Field(strict=False)] = Comparison.EQUAL
    values: list[Text] = []  # noqa: RUF012 - pydantic copies the default for each instance


class Selecting(Operation):
    """Base of the operations that select memories: by ids, by filters, or all memories of a namespace."""

    namespace: FilledName
    ids: Annotated[list[Id] | None, Field(min_length=1, max_length=IDS_AT_ONCE)] = None
    tags: Tags | None = None
    session: Session | None = None
    after: Instant | None = None
    before: Instant | None = None
    """The end of the period, exclusive."""
    metadata: list[Condition] | None = None
    all: bool = False

    @property
    def selection(self) -> Selection:
        """The memories that the fields of the operation select, as a `Selection`. Raises InvalidRequest."""
        filters = Filters(
            after=self.after,
            before=self.before,
            tags=tuple(self.tags or ()),
            session=self.session,
            metadata=tuple(condition(entry.path, entry.op, entry.values) for entry in self.metadata or ()),
            include_superseded=True,
        )
        return Selection.of(self.ids, filters, everything=self.all)
