"""The property that is computed only once, even if several threads read it at the same time."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from mnemosyne.once import once


class Adapter:
    def __init__(self) -> None:
        self.built = 0
        self.fails = False
        self.together = Barrier(4)

    @once
    def client(self) -> object:
        self.built += 1
        if self.fails:
            raise OSError("no connection")
        return object()

    def read(self, _: int) -> object:
        self.together.wait()
        return self.client


def test_threads_that_read_the_property_at_the_same_time_get_the_same_value() -> None:
    adapter = Adapter()
    with ThreadPoolExecutor(4) as threads:
        clients = set(threads.map(adapter.read, range(4)))
    assert (len(clients), adapter.built) == (1, 1)


def test_each_object_has_its_own_value() -> None:
    assert Adapter().client is not Adapter().client


def test_after_an_error_the_value_is_computed_again() -> None:
    adapter = Adapter()
    adapter.fails = True
    with pytest.raises(OSError, match="no connection"):
        _ = adapter.client
    adapter.fails = False
    assert adapter.client is adapter.client
    assert adapter.built == 2
