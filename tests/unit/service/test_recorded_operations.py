"""Which operations are in the audit trail."""

from types import SimpleNamespace
from typing import Any

import pytest

from mnemosyne.app import operations
from mnemosyne.app.operations.change_feed import ListChanges
from mnemosyne.app.operations.operation import Operation
from mnemosyne.app.operations.outcomes import ListOutcomes
from mnemosyne.domain.change_feed import ChangeCursor
from mnemosyne.domain.outcome import OutcomeCursor


def _recorded(operation: Operation, monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any]) -> list[Any]:
    """Run an operation that returns this answer. Return the events in the audit trail."""
    recorded: list[Any] = []
    monkeypatch.setattr(type(operation), "run", lambda self, operator: answer)
    operator: Any = SimpleNamespace(audit=SimpleNamespace(record=recorded.append))
    operations.run(operation, operator, "local:ada")
    return [(row["action"], row["namespace"], row["count"]) for row in recorded]


@pytest.mark.parametrize(
    ("listing", "rows", "action"),
    [
        (lambda position: ListChanges(namespace="ns", after=ChangeCursor(seen=position)), "events", "change_list"),
        (lambda position: ListOutcomes(namespace="ns", after=OutcomeCursor(seen=position)), "outcomes", "outcome_list"),
    ],
)
@pytest.mark.parametrize(
    ("position", "count", "is_recorded"), [(None, 0, True), (None, 2, True), ("1:1:", 2, True), ("1:1:", 0, False)]
)
def test_a_poll_is_recorded_in_the_audit_trail_only_if_it_found_something(
    listing: Any,
    rows: str,
    action: str,
    position: str | None,
    count: int,
    is_recorded: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = {rows: [{}] * count, "after": {}, "is_last": True}
    assert _recorded(listing(position), monkeypatch, answer) == ([(action, "ns", count)] if is_recorded else [])
