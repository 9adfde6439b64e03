"""Base of the operations that select memories of a namespace."""

from typing import Annotated

from pydantic import Field

from mnemosyne.app.operations.operation import Operation
from mnemosyne.domain.forgetting import IDS_AT_ONCE, Selection
from mnemosyne.domain.metadata_filter import Operator as Comparison
from mnemosyne.domain.metadata_filter import condition
from mnemosyne.domain.parsing import Id, Input, Instant, Session, Tags, Text
from mnemosyne.domain.search import Filters


class Condition(Input):
    """A condition on metadata."""

    path: Text
    op: Annotated[Comparison, Field(strict=False)] = Comparison.EQUAL
    values: list[Text] = []  # noqa: RUF012 - pydantic makes each its own


class Selecting(Operation):
    """Base of the operations that select memories: by ids, by filters, or all memories of a namespace."""

    namespace: Annotated[Text, Field(min_length=1, max_length=200)]
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
        """The selection that the fields describe. Raises InvalidRequest."""
        filters = Filters(
            after=self.after,
            before=self.before,
            tags=tuple(self.tags or ()),
            session=self.session,
            metadata=tuple(condition(each.path, each.op, each.values) for each in self.metadata or ()),
            include_superseded=True,
        )
        return Selection.of(self.ids, filters, everything=self.all)
