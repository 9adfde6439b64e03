"""Open the system that a command works on: the system that the environment names, or a local system."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from mnemosyne.app.container import ConfiguredServices
from mnemosyne.cli.terminal import say
from mnemosyne.settings import PREFIX, Settings, variable

if TYPE_CHECKING:  # at run time, `cli.local` is imported inside functions, because the extra `local` is optional
    from mnemosyne.cli.local.data_dir import DataDir

DEFAULT_NAMESPACE = "default"


def owner_settings() -> Settings:
    """Return the settings in the environment, for a command that runs as the role that owns the schema.

    The environment need not name a topic, because such a command publishes nothing.
    """
    return Settings.from_environment({variable("topic"): "file:///nowhere", **os.environ})


def settings_of_a_system() -> list[str]:
    """Return the names of the environment variables that are set and by which a system is configured.

    MNEMOSYNE_LOG_LEVEL is left out, because it does not say which system a command works on.
    """
    variables = {variable(name) for name in Settings.model_fields} - {variable("log_level")}
    return sorted(name for name in variables if name.startswith(PREFIX) and name in os.environ)


@contextmanager
def open_services(data_dir: str | None, *, create: bool = False, delivers: bool = True) -> Iterator[ConfiguredServices]:
    """Yield the system that a command works on. A local system is started if necessary.

    The command works on the local system in `data_dir`. Without `data_dir`, it works on the system that the
    environment's settings name or, without settings, on the user's local system. If `create` is true, a missing system
    in `data_dir` is created.

    If `delivers` is false, only the database of a local system is started, which saves seconds. This is enough for
    commands that only read. It is not an error if the memories are in another embedding space than the settings name,
    because the settings of a command need not name an embedder.
    """
    if settings_of_a_system() and data_dir is None:
        with closing(ConfiguredServices(Settings.from_environment(), any_space=True)) as services:
            yield services
        return
    from mnemosyne.cli.local import stack

    start = stack.ingest_stack if delivers else stack.reading_stack
    with (
        start(data_directory(data_dir, create)) as settings,
        closing(ConfiguredServices(settings, any_space=True)) as services,
    ):
        yield services


def data_directory(data_dir: str | None, create: bool) -> "DataDir":
    """Return the directory of a local system: `data_dir` or, without `data_dir`, the user's data directory.

    If `create` is true, a missing system in `data_dir` is created, with a note on standard error. In all other cases, a
    missing system raises Misconfigured.
    """
    from mnemosyne.cli.local.data_dir import DataDir

    if data_dir is None or not create:
        return DataDir.existing(data_dir)
    if problem := DataDir.missing_system_message(data_dir):
        say(f"Note: {problem}; creating one.", err=True)
    return DataDir.at(data_dir)
