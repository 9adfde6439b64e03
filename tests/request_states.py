"""Read the table in docs/requests.md with the states of requests to ingest."""

from functools import cache
from pathlib import Path

DOCUMENT = Path(__file__).parents[1] / "docs" / "requests.md"


@cache
def documented_states() -> dict[tuple[str, str | None], str | None]:
    """Return the next state for each event and state in the table.

    As a state, None means that the request has no row. As a next state, None means that the state does not change.
    """
    rows = [line.strip("| \n").split(" | ") for line in DOCUMENT.read_text().splitlines() if line.startswith("| ")]
    start = next(index for index, row in enumerate(rows) if row[:2] == ["event", "no row"])
    states = rows[start][1:]
    table = [row for row in rows[start + 1 :] if len(row) == len(rows[start])]
    return {
        (row[0].strip("`"), None if state == "no row" else state.strip("`")): None if cell == "–" else cell.strip("`")
        for row in table
        for state, cell in zip(states, row[1:], strict=True)
    }
