"""The arguments by which tools narrow what they look at, and how they become filters."""

from dataclasses import fields
from datetime import datetime, timedelta
from functools import reduce
from typing import Annotated, Any, Self

from pydantic import Field

from mnemosyne.domain.parsing import Input, Integer, Tags, Text
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.domain.search import Filters
from mnemosyne.domain.time.window import TimeWindow, bounds, intersection, resolve
from mnemosyne.errors import InvalidRequest
from mnemosyne.mcp.tool import Result

Limit = Annotated[Integer, Field(ge=1, le=100, description="How many, 1 to 100.")]


class FilterArguments(Input):
    """Time and tags."""

    tags: Annotated[Tags | None, Field(description="Only memories with these tags; case is ignored.")] = None
    after: Annotated[Text | None, Field(description="At or after: YYYY-MM-DD (from that day's start) or RFC 3339.")] = (
        None
    )
    before: Annotated[
        Text | None, Field(description="At or before: YYYY-MM-DD (to that day's end, inclusive) or RFC 3339.")
    ] = None
    time_expr: Annotated[
        Text | None,
        Field(
            description="Time in words, wholly understood or refused: 'yesterday evening', 'last week', "
            "'the past 3 months', '2 weeks ago', 'last Tuesday', 'March 2025', 'Q1 2025', 'summer 2025', "
            "'between May 1 and May 15', 'since Monday'."
        ),
    ] = None

    def window(self, now: datetime, timezone: str = "UTC", days_back: int | None = None) -> TimeWindow | None:
        """Return the window in which all time arguments agree.

        None where there is none of them. Raises InvalidRequest.
        """
        windows = []
        if self.after is not None or self.before is not None:
            windows.append(bounds(self.after, self.before, timezone=timezone))
        if self.time_expr is not None:
            windows.append(resolve(self.time_expr, now=now, timezone=timezone))
        if days_back is not None:
            try:
                windows.append(TimeWindow(after=now - timedelta(days=days_back)))
            except OverflowError:
                raise InvalidRequest(f"days_back must not reach before the year 1, got {days_back}") from None
        return reduce(intersection, windows) if windows else None

    def filters(self, within: TimeWindow | None, **others: Any) -> Filters:
        """Return the filters: each argument that has the name of one, the window's ends, and `others`."""
        named = {one.name: getattr(self, one.name) for one in fields(Filters) if one.name in type(self).model_fields}
        span = within or TimeWindow()
        return Filters(**named | {"after": span.after, "before": span.before, "tags": tuple(self.tags or ())} | others)


class WindowShown(Result):
    """The time that was searched, both ends inclusive, UTC; null where open."""

    after: str | None
    before: str | None
    timezone: str

    @classmethod
    def of(cls, window: TimeWindow, timezone: str) -> Self:
        """Return the window as answered."""
        return cls(after=rfc3339(window.after), before=rfc3339(window.last), timezone=timezone)
