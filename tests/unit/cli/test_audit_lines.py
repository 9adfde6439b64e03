"""The lines that `mnemosyne audit` and `mnemosyne access` print."""

import pytest

from mnemosyne.cli import access


@pytest.mark.parametrize(
    ("ids", "count", "end"),
    [
        ([], 8, "  8"),
        ([], 0, "ada"),
        (["a"], 1, "  1  a"),
        (["a", "b", "c", "d"], 7, "  7  a, b, c, and 4 more"),
        (["a"], 5, "  5  a, and 4 more"),
    ],
)
def test_the_remainder_of_an_audit_event_counts_the_ids_not_printed(ids: list[str], count: int, end: str) -> None:
    event = {
        "at": "2026-05-20T12:00:00Z", "action": "ingest_memories", "outcome": "done", "namespace": "n",
        "principal": "ada", "credential": "", "client": "", "ids": ids, "count": count,
    }  # fmt: skip
    assert access._line(event).endswith(end)
