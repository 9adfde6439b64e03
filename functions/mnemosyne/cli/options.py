"""Options that several commands have."""

from collections.abc import Callable
from typing import Any

import click

from mnemosyne.cli.open_services import DEFAULT_NAMESPACE

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]
NAMESPACE = click.option("--namespace", default=DEFAULT_NAMESPACE, show_default=True, help="The namespace.")


def options(*decorators: Decorator) -> Decorator:
    """Return a decorator that adds all these options. `--help` shows them in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(decorators):
            command = option(command)
        return command

    return decorate
