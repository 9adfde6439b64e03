"""`mnemosyne retention`: how long the memories of a namespace are kept."""

import json
from datetime import timedelta
from typing import Any, Literal

import click

from mnemosyne.app.operations.retention import (
    ApplyRetention,
    ClearRetention,
    ListRetention,
    PreviewRetention,
    SetRetention,
)
from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.options import JSON, namespace_or_all
from mnemosyne.cli.system import System, owners_system, pages
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import ask_to_confirm, column, explained, say
from mnemosyne.cli.times import duration
from mnemosyne.domain.lifetime import LONGEST
from mnemosyne.domain.plurals import quantity
from mnemosyne.errors import NotFound

DAY = 86_400
_Lifetime = int | Literal["none"]
"""Seconds; "none" removes a lifetime."""


def _parse_lifetime(value: str) -> _Lifetime:
    if value == "none":
        return "none"
    seconds = duration(value)
    if not 1 <= seconds <= LONGEST.total_seconds():
        raise click.BadParameter(f"must be between 1m and {LONGEST.days}d, got {value!r}")
    return seconds


@click.group(cls=FullHelpGroup)
def retention() -> None:
    """Show and set how long memories are kept before they expire."""


@retention.command(name="list")
@target(DATA_DIR, PROJECT)
@JSON
def list_(as_json: bool, **target_values: Any) -> None:
    """Show the default and the maximum lifetime of each namespace, and how many of its memories have an expiry."""
    with owners_system(**target_values) as system:
        namespaces = system.run(ListRetention())["namespaces"]
    if as_json:
        say(json.dumps([values | {"namespace": values["namespace"] or None} for values in namespaces]))
        return
    for values in namespaces:
        lifetimes = ", ".join(f"{name} {_format_lifetime(values[name])}" for name in ("default", "maximum"))
        expiring = quantity(values["expiring"], "memory expires", "memories expire")
        say(f"{column(values['namespace'] or '(all others)', 30)}  {lifetimes}; {expiring}")
    if not namespaces:
        say("No namespace has lifetimes, and no memory expires.")


@retention.command(name="set")
@namespace_or_all(help="The namespace [default: all without lifetimes of their own].")
@click.option(
    "--default", type=_parse_lifetime, metavar="90d", help="Lifetime of memories without an expiry, unless pinned."
)
@click.option("--maximum", type=_parse_lifetime, metavar="365d", help="Longest lifetime of every memory.")
@click.option("--yes", is_flag=True, help="Do not ask, even if memories expire at once.")
@target(DATA_DIR, PROJECT)
def set_(namespace: str, default: _Lifetime | None, maximum: _Lifetime | None, yes: bool, **target_values: Any) -> None:
    """Set the default and the maximum lifetime, for new and for stored memories.

    A lifetime whose option is missing does not change. The value `none` removes a lifetime. The lifetime of a memory
    begins when its content was last sent.
    """
    if default is None and maximum is None:
        raise click.UsageError("give --default, --maximum or both; `mnemosyne retention clear` removes them")
    lifetimes = PreviewRetention(namespace=namespace, default=default, maximum=maximum)
    with owners_system(**target_values) as system:
        expired = system.run(lifetimes)["expired"]
        if expired and not yes:
            count = quantity(expired, "stored memory is", "stored memories are")
            ask_to_confirm(f"{count} older than that and will be deleted. Continue?", "--yes")
        system.run(SetRetention(**lifetimes.model_dump()))
        _apply_retention(system, namespace)


@retention.command()
@namespace_or_all(help="The namespace [default: the lifetimes of all without their own].")
@target(DATA_DIR, PROJECT)
def clear(namespace: str, **target_values: Any) -> None:
    """Remove the lifetimes of a namespace, for new and for stored memories.

    If lifetimes are set for all namespaces, these then apply to this namespace.
    """
    with owners_system(**target_values) as system:
        missing: NotFound | None = None
        try:
            system.run(ClearRetention(namespace=namespace))
        except NotFound as exc:
            # Continue even if there are no lifetimes. An interrupted run of this command may have removed them, but not
            # yet changed the expiry of stored memories.
            missing = exc
        _apply_retention(system, namespace, missing)


def _apply_retention(system: System, namespace: str, missing: NotFound | None = None) -> None:
    """Change the expiry of stored memories. If none changes, raise the error `missing`, if there is one."""
    with explained(
        "new memories get the new expiry, but not all stored memories have it. Run the same command again for these."
    ):
        count = sum(page["changed"] for page in pages(system, ApplyRetention(namespace=namespace)))
    if missing and not count:
        raise missing
    say(f"Done: {quantity(count, 'stored memory has', 'stored memories have')} another expiry now.")


def _format_lifetime(seconds: int | None) -> str:
    if seconds is None:
        return "none"
    return f"{seconds // DAY}d" if seconds % DAY == 0 else str(timedelta(seconds=seconds))
