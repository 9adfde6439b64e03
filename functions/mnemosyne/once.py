"""A property that several threads can read at the same time, and that is computed only once."""

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

ValueT = TypeVar("ValueT")


class once(Generic[ValueT]):  # noqa: N801 - a decorator
    """A property that is computed at its first read and then kept.

    If several threads read the property at the same time, only one computes the value. After an error, the next read
    computes the value again. `functools.cached_property` has no lock since Python 3.12: each thread would compute a
    value, and all values except one would be dropped while their threads still use them.
    """

    def __init__(self, build: Callable[[Any], ValueT]) -> None:
        self._build = build
        self._name = build.__name__
        self._lock = threading.RLock()
        self.__doc__ = build.__doc__

    def __get__(self, instance: object, owner: type | None = None) -> ValueT:
        with self._lock:
            if self._name not in vars(instance):
                # Store the value as an attribute of the instance. Python finds this attribute at later reads and does
                # not call __get__ again.
                vars(instance)[self._name] = self._build(instance)
        value: ValueT = vars(instance)[self._name]
        return value
