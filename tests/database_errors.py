"""What PostgreSQL says behind our errors."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mnemosyne.errors import Broken


@contextmanager
def permission_denied(message: str = "permission denied") -> Iterator[None]:
    """Expect that PostgreSQL refuses a right with that message, a regular expression."""
    with pytest.raises(Broken) as raised:
        yield
    assert re.search(message, str(raised.value.__cause__))
