"""Divide items into batches of limited size. Pure."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

ItemT = TypeVar("ItemT")


def batches(items: Iterable[ItemT], size: Callable[[ItemT], int], *, most: int, largest: int) -> Iterator[list[ItemT]]:
    """Yield the items in order, in batches of limited size.

    A batch has at most `most` items, whose sizes add up to at most `largest`. An item whose size
    exceeds `largest` is alone in its batch.
    """
    batch: list[ItemT] = []
    total = 0
    for item in items:
        item_size = size(item)
        if batch and (len(batch) == most or total + item_size > largest):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += item_size
    if batch:
        yield batch
