"""Which system a command works on: the one the environment names, or the one in a data directory."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from infra.local import postgres, stack
from infra.local.data_dir import DataDir
from mnemosyne.adapters.connections import Session, opener
from mnemosyne.backends import Backends, session_opener
from mnemosyne.settings import PREFIX, Settings, variable

DEFAULT_NAMESPACE = "default"


def owner_settings() -> Settings:
    """The environment's settings, for commands of the schema's owner: those publish nothing, and need no topic."""
    return Settings.from_environment({variable("topic"): "file:///nowhere", **os.environ})


@contextmanager
def owner_opener(data_dir: str | None) -> Iterator[Callable[[], Session]]:
    """Opens sessions as the role that owns the schema: whom the settings log in as, or the local system's owner."""
    if _named() and data_dir is None:
        yield session_opener(owner_settings())
        return
    with stack.database(DataDir.at(data_dir)) as server:
        yield opener(server.url(postgres.OWNER))


def _named() -> bool:
    """Whether the environment says anything of a system: then it must say all, and nothing else is meant."""
    named = {variable(name) for name in Settings.model_fields} - {variable("log_level")}
    return any(name in os.environ for name in named if name.startswith(PREFIX))


@contextmanager
def target(data_dir: str | None) -> Iterator[Backends]:
    """The system that the settings name, where they name a database; else the local one, started if need be."""
    if _named() and data_dir is None:
        yield Backends(Settings.from_environment())
        return
    with stack.storing(DataDir.at(data_dir)) as settings:
        yield Backends(settings)
