"""Arguments that filter memories, and their conversion to filters."""

import json
from dataclasses import fields
from datetime import datetime, timedelta
from functools import reduce
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from mnemosyne.domain.confidence import Confidence
from mnemosyne.domain.event_time import zone
from mnemosyne.domain.metadata_filter import MetadataCondition, Operator, condition
from mnemosyne.domain.parsing import Input, Session, Tags, Text
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.domain.search import MAXIMUM_LIMIT, Filters
from mnemosyne.domain.text_checks import excerpt
from mnemosyne.domain.time.window import TimeWindow, bounds, intersection, is_all_time, resolve
from mnemosyne.errors import InvalidRequest
from mnemosyne.mcp.hits import NOTHING_FOUND
from mnemosyne.mcp.tool import Result

Limit = Annotated[int, Field(ge=1, le=MAXIMUM_LIMIT, description="How many.")]
PageCursor = Annotated[Text | None, Field(description="`next_cursor` of the page before, with the same filters.")]
MinConfidence = Annotated[Confidence | None, Field(strict=False, description="Leave out weaker hits.")]


def _to_texts(value: object) -> object:
    """Convert one value or a list of values to texts. Numbers and booleans are written as JSON."""
    values = value if isinstance(value, list) else [value]
    return [json.dumps(element) if isinstance(element, bool | int | float) else element for element in values]


def _reject_number(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f"must be a date as text, such as 2026-05-20 or 2026-05-20T14:30:00Z, got {value}")
    return value


DateAsText = BeforeValidator(_reject_number, json_schema_input_type=str | None)


AsOf = Annotated[
    Text | None,
    DateAsText,
    Field(
        description="YYYY-MM-DD (its end) or RFC 3339: the memories stored and current then, with titles, tags and "
        "metadata of then."
    ),
]


class ConditionArguments(Input):
    """One condition on metadata."""

    example = '{"path": "price", "op": "=", "values": ["1.10"]}'

    path: Text
    op: Annotated[Operator, Field(strict=False)] = Operator.EQUAL
    values: Annotated[
        list[Annotated[Text, Field(max_length=1_000)]],
        Field(max_length=50),
        BeforeValidator(_to_texts, json_schema_input_type=list[str]),
    ] = []  # noqa: RUF012 - pydantic copies the default for each instance

    @model_validator(mode="after")
    def _check_condition(self) -> Self:
        self.condition()
        return self

    def condition(self) -> MetadataCondition:
        """Convert the arguments to a condition."""
        return condition(self.path, self.op, self.values)


class FilterArguments(Input):
    """Arguments that filter memories by time, tags, session and metadata."""

    tags: Annotated[Tags | None, Field(description="Only with one of these tags.")] = None
    after: Annotated[Text | None, DateAsText, Field(description="First day, YYYY-MM-DD, or RFC 3339.")] = None
    before: Annotated[Text | None, DateAsText, Field(description="Last day or time.")] = None
    time_expr: Annotated[Text | None, Field(description="In words: 'last Tuesday', 'the past 3 months'.")] = None

    timezone: Annotated[Text, Field(description="IANA name; else UTC.")] = "UTC"

    session: Annotated[Session | None, Field(description="Only of this session.")] = None

    metadata: list[ConditionArguments] | None = Field(
        None,
        min_length=1,
        max_length=10,
        description="All must hold. path: such as project.name. values: any of them, or one number or date to compare.",
    )

    def window(self, now: datetime, days_back: int | None = None) -> TimeWindow | None:
        """Return the intersection of all time arguments, or None if there are none.

        Raises InvalidRequest. An unknown time zone is an error even if there are no time arguments.
        """
        zone(self.timezone)
        windows = []
        if self.after is not None or self.before is not None:
            windows.append(self._time_bounds())
        if self.time_expr is not None and not is_all_time(self.time_expr):
            windows.append(resolve(self.time_expr, now=now, timezone=self.timezone))
        if days_back is not None:
            try:
                windows.append(TimeWindow(after=now - timedelta(days=days_back)))
            except OverflowError:
                raise InvalidRequest(f"days_back must not reach before the year 1, got {days_back}") from None
        return reduce(intersection, windows) if windows else None

    def _time_bounds(self) -> TimeWindow:
        try:
            return bounds(self.after, self.before, timezone=self.timezone)
        except InvalidRequest as exc:
            if all(bound is None or bound[:1].isdigit() for bound in (self.after, self.before)):
                raise
            raise InvalidRequest(f"{exc}; words such as 'yesterday' go into time_expr") from exc

    def nothing_found(self, *, has_query: bool = False) -> str:
        """Return the text of an empty answer.

        Some models set a filter by mistake, for example to the text `null`. Therefore the text names all filters except
        times.
        """
        conditions = [str(argument.condition()) for argument in self.metadata or ()]
        filters = {"tags": self.tags, "session": self.session, "metadata": conditions}
        named = " and ".join(f"{name} {excerpt(value)}" for name, value in filters.items() if value)
        return f"No memories found{' for the query' if has_query else ''} with {named}." if named else NOTHING_FOUND

    def filters(self, within: TimeWindow | None, **others: Any) -> Filters:
        """Build the filters of a query from the arguments and a time window.

        `others` has values for fields of Filters that are not among the arguments.
        """
        values = {
            field.name: getattr(self, field.name) for field in fields(Filters) if field.name in type(self).model_fields
        }
        span = within or TimeWindow()
        conditions = {
            "after": span.after,
            "before": span.before,
            "tags": tuple(self.tags or ()),
            "metadata": tuple(argument.condition() for argument in self.metadata or ()),
        }
        return Filters(**values | conditions | others)


class ListFilterArguments(FilterArguments):
    """Arguments that filter lists and counts of memories. Superseded memories are included by default."""

    include_superseded: Annotated[bool, Field(description="Also memories that newer ones replace.")] = True


LIST_FILTERS = tuple(ListFilterArguments.model_fields)
"""Names of the arguments of ListFilterArguments. Some tools accept these arguments, but do not list them."""


class Window(Result):
    """The time window of a search in UTC. Both ends are inclusive; null is an open end."""

    after: str | None
    before: str | None
    timezone: str

    @classmethod
    def of(cls, window: TimeWindow, timezone: str) -> Self:
        """Build the result from a TimeWindow and the name of a time zone."""
        return cls(after=rfc3339(window.after), before=rfc3339(window.last), timezone=timezone)
