"""The system that an operator's command works on.

This system is one of three: a deployment, a local system, or the system that the settings in the environment name.
"""

import getpass
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.app import operations
from mnemosyne.app.operations.operation import Operation
from mnemosyne.app.operator import MemoryStores, OwnerStores, SystemOperator
from mnemosyne.cli.deployment import Deployment
from mnemosyne.cli.open_services import data_directory, open_services, owner_settings, settings_of_a_system
from mnemosyne.domain.batches import batches
from mnemosyne.observability import configure_logging

SLICE = 200
"""Maximum number of texts, such as message ids or keys, in one operation."""
SLICE_CHARACTERS = 5_000
"""Maximum number of characters of all texts in one operation. In a deployment, the operation is sent as encrypted JSON
in the argument of a workflow, which has at most 32 KB."""


class System(Protocol):
    """Runs the operations of an operator's command, in a deployment or in this process."""

    def run(self, operation: Operation) -> dict[str, Any]:
        """Run an operation and return its answer. Raises the errors of `mnemosyne.errors`."""


class LocalSystem:
    """Runs operations in this process."""

    def __init__(self, operator: Any) -> None:
        """`operator` is a SystemOperator, or another object with the attributes that the operations use."""
        self._operator = operator

    def run(self, operation: Operation) -> dict[str, Any]:
        """Run an operation and return its answer."""
        if operation.changes_as_owner:
            configure_logging("WARNING", sys.stderr)  # the audit trail records the operation, so log only warnings
        return operations.run(operation, self._operator, f"local:{_user()}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # in a container, the user id may belong to no named user
        return str(os.getuid())


@contextmanager
def owners_system(
    *, project: str | None, region: str, deployment: str, data_dir: str | None = None, create: bool = False
) -> Iterator[System]:
    """Yield a system whose operations run as the role that owns the schema.

    If `create` is true, a missing local system in `data_dir` is created.
    """
    if project is not None:
        yield Deployment(project, region, deployment)
    elif settings_of_a_system() and data_dir is None:
        yield LocalSystem(SystemOperator(owner_settings()))
    else:
        from mnemosyne.cli.local import postgres, stack

        with stack.database(data_directory(data_dir, create)) as server:
            yield LocalSystem(OwnerStores(connection_factory(server.url(postgres.OWNER))))


@contextmanager
def memory_system(
    *, project: str | None, region: str, deployment: str, data_dir: str | None, delivers: bool = True
) -> Iterator[System]:
    """Yield a system for operations on memories and messages.

    Outside of a deployment, the operations use the database user that the environment's settings name or, without
    settings, the user `mnemosyne`. If `delivers` is false, only the database of a local system is started. This is
    enough for commands that only read.
    """
    if project is not None:
        yield Deployment(project, region, deployment)
        return
    with open_services(data_dir, delivers=delivers) as services:
        yield LocalSystem(MemoryStores(services))


def pages(system: System, operation: Operation) -> Iterator[dict[str, Any]]:
    """Run an operation repeatedly, and yield its answers. Each answer is a page.

    The field `after` of a page is the position at which the next page starts. On the last page, the field is missing or
    empty.
    """
    while True:
        page = system.run(operation)
        yield page
        if not page.get("after"):
            return
        operation = operation.next_page(page["after"])


def slices(texts: Sequence[str]) -> Iterator[list[str]]:
    """Split the texts into lists, each short enough for the arguments of one operation."""
    return batches(texts, len, most=SLICE, largest=SLICE_CHARACTERS)
