"""The states of a request are those of docs/requests.md."""

import re
from pathlib import Path

from mnemosyne.adapters.database.pool import Pool

DOCUMENT = Path(__file__).parents[2] / "docs" / "requests.md"
NEXT_STATE = "SELECT next_request_state(:state, :event) AS state"


def _cells() -> list[tuple[str, str | None, str | None]]:
    """Event, state and next state of each cell of the table; None for no row and for no change."""
    rows = [line.strip("| \n").split(" | ") for line in DOCUMENT.read_text().splitlines() if line.startswith("| ")]
    start = next(index for index, row in enumerate(rows) if row[:2] == ["event", "no row"])
    states = rows[start][1:]
    table = [row for row in rows[start + 1 :] if len(row) == len(rows[start])]
    return [
        (row[0].strip("`"), None if state == "no row" else state.strip("`"), None if cell == "–" else cell.strip("`"))
        for row in table
        for state, cell in zip(states, row[1:], strict=True)
    ]


def test_each_cell_of_the_documented_table_is_the_state_that_the_function_returns(pool: Pool) -> None:
    with pool.connection() as connection:
        actual = [
            (event, state, connection.one(NEXT_STATE, state=state, event=event)["state"])
            for event, state, _ in _cells()
        ]
    assert actual == _cells()
    assert len(actual) == 7 * 7


def test_the_documented_table_has_each_state_that_a_request_can_have(pool: Pool) -> None:
    with pool.connection() as connection:
        (constraint,) = connection.run(
            "SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint"
            " WHERE conrelid = CAST('ingest_requests' AS regclass) AND contype = 'c'"
        )
    assert {state for _, state, _ in _cells() if state} == set(re.findall(r"'(\w+)'", constraint["text"]))
