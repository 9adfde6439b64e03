"""Find the candidates that are near each other in their sessions. Pure."""

from collections.abc import Iterable


def adjacency(neighbours: Iterable[tuple[int, int, int]]) -> dict[int, dict[int, int]]:
    """Map each row to its neighbours in the session: the rows at the offsets -2, -1, 1 and 2, by offset."""
    runs: dict[int, dict[int, int]] = {}
    for head, offset, row in neighbours:
        runs.setdefault(head, {0: head})[offset] = row
    around: dict[int, dict[int, int]] = {}
    for run in runs.values():
        for place, row in run.items():
            by_offset = around.setdefault(row, {})
            for offset in (-2, -1, 1, 2):
                if (neighbour := run.get(place + offset)) is not None:
                    by_offset[offset] = neighbour
    return around
