"""Options that several commands have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from mnemosyne.cli.open_services import DEFAULT_NAMESPACE
from mnemosyne.domain.names import NAMESPACE_CHARACTERS, namespace_name
from mnemosyne.domain.parsing import SOURCE_LIMIT
from mnemosyne.domain.visible import first_invisible

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]
Value = TypeVar("Value")


def check_name(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Check the length and the characters of a name. This is a callback for click. Raises BadParameter."""
    if value is not None and not (namespace_name(value) and value.isprintable()):
        raise click.BadParameter(
            f"must be 1 to {NAMESPACE_CHARACTERS} printable characters, without spaces at its ends, got {value!r}"
        )
    return value


def check_source(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Check a source by the rules for the sources of records. This is a callback for click. Raises BadParameter."""
    if value is not None and (not value.strip() or len(value) > SOURCE_LIMIT or first_invisible(value)):
        got = f"{len(value):,} characters" if len(value) > SOURCE_LIMIT else repr(value)
        raise click.BadParameter(
            f"must be 1 to {SOURCE_LIMIT:,} visible characters on one line, got {got}: choose another source, or leave "
            "the option out"
        )
    return value


def refuse_empty(context: click.Context, parameter: click.Parameter, value: Value) -> Value:
    """Refuse an empty value, which is probably an unset shell variable. If `value` is a tuple, check its elements.

    This is a callback for click.
    """
    if "" in (value if isinstance(value, tuple) else (value,)):
        raise click.BadParameter(f"must not be empty{_advice_on_empty(parameter)}")
    return value


def text_option(*names: str, **settings: Any) -> Decorator:
    """Return a decorator that adds an option with a text, which must not be empty. click.option gets the `settings`."""
    return click.option(*names, callback=refuse_empty, **settings)


class FilledPath(click.Path):
    """Type of a parameter that is a path. It refuses an empty path: click would take it for the working directory."""

    def __init__(self, *, dir_okay: bool = True) -> None:
        super().__init__(path_type=Path, dir_okay=dir_okay)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse an empty value, and convert all others to a Path."""
        if value == "":
            self.fail(f"must not be empty{_advice_on_empty(param)}", param, ctx)
        return super().convert(value, param, ctx)


def _advice_on_empty(parameter: click.Parameter | None) -> str:
    can_be_left_out = isinstance(parameter, click.Option) and not parameter.required
    return ": leave the option out" if can_be_left_out else ""


def namespace_option(*, help: str = "The namespace.") -> Decorator:  # noqa: A002 - as click's own
    """Return a decorator that adds --namespace, by default with the value `default`."""
    return text_option("--namespace", default=DEFAULT_NAMESPACE, show_default=True, help=help)


NAMESPACE = namespace_option()
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
JSON_LINES = click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
DIRECTORY = text_option(
    "--data-dir", metavar="DIR", help="The memories' directory [default: the user's data directory]."
)


def _refuse_empty_namespace(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    if value == "":  # probably an unset shell variable, so it must not mean all namespaces
        raise click.BadParameter("must not be empty: leave the option out for all namespaces")
    return value or ""


def namespace_or_all(*, help: str) -> Decorator:  # noqa: A002 - as click's own
    """Return a decorator that adds --namespace. Without the option, the value is empty and means all namespaces."""
    return click.option("--namespace", callback=_refuse_empty_namespace, help=help)


def options(*decorators: Decorator) -> Decorator:
    """Return a decorator that applies all `decorators`. `--help` shows their options in the given order."""

    def decorate(command: Command) -> Command:
        for option in reversed(decorators):
            command = option(command)
        return command

    return decorate
