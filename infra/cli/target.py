"""Which system a command works on: the one the environment names, or the one in a data directory."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from infra.local import stack
from infra.local.data_dir import DataDir
from mnemosyne.bootstrap import Backends
from mnemosyne.settings import Settings

DEFAULT_NAMESPACE = "default"


@contextmanager
def target(data_dir: str | None) -> Iterator[Backends]:
    """The system that the settings name, where they name a database; else the local one, started if need be."""
    named = os.environ.get("MNEMOSYNE_DATABASE_URL") or os.environ.get("MNEMOSYNE_INSTANCE_CONNECTION_NAME")
    if named and data_dir is None:
        yield Backends(Settings.from_environment())
        return
    with stack.storing(DataDir.at(data_dir)) as settings:
        yield Backends(settings)
