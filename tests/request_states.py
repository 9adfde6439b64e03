"""Read the table in docs/requests.md with the states of requests to ingest."""

from functools import cache
from pathlib import Path

DOCUMENT = Path(__file__).parents[1] / "docs" / "requests.md"


@cache
def documented_states() -> dict[tuple[str, str | None], str | None]:
    """Return a dictionary from each event and state in the table to the next state.

    In a key, the state None means that the request has no row in the database. The next state None means that the event
    does not change the state.
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
