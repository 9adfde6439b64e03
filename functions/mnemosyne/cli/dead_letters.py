"""`mnemosyne dead-letters`: list, show and drop dead letters (messages that could not be stored)."""

import json
import sys
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

import click

from mnemosyne.app.operations.dead_letters import (
    CountDeadLetters,
    DropDeadLetters,
    FindDeadLetters,
    ListDeadLetters,
    ShowDeadLetter,
    not_found,
)
from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.open_services import DEFAULT_NAMESPACE
from mnemosyne.cli.options import JSON_LINES, options, refuse_empty, text_option
from mnemosyne.cli.system import memory_system, pages, slices
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import ask_to_confirm, plain, say
from mnemosyne.cli.times import duration, minute
from mnemosyne.domain.plurals import quantity

NAMESPACE = click.option(
    "--namespace",
    default=DEFAULT_NAMESPACE,
    show_default=True,
    help='Letters of this namespace; "" selects messages without a namespace.',
)
choice_options = options(
    click.option(
        "--younger-than",
        type=duration,
        metavar="AGE",
        help="Only letters that first failed within this age: 90m, 12h or 7d.",
    ),
    click.option("--older-than", type=duration, metavar="AGE", help="Only letters that first failed earlier."),
    text_option(
        "--cause", metavar="TEXT", help="Only letters whose cause, or its group, contains this text; case is ignored."
    ),
)
"""The options that choose dead letters by age and cause."""


def choice(younger_than: int | None, older_than: int | None, cause: str | None) -> dict[str, Any]:
    """Convert the values of `choice_options` to the arguments of an operation that selects dead letters.

    An option that the user has not given is left out.
    """
    values = {"younger_than": younger_than, "older_than": older_than, "cause": cause}
    return {name: value for name, value in values.items() if value is not None}


@click.group(name="dead-letters", cls=FullHelpGroup)
def dead_letters() -> None:
    """List, show and drop dead letters: messages that failed or cannot be read. `redrive` publishes them again."""


@dead_letters.command(name="list")
@choice_options
@click.option("--by-cause", is_flag=True, help="Count letters by cause; # replaces ids and numbers.")
@NAMESPACE
@JSON_LINES
@target(DATA_DIR, PROJECT)
def list_(
    younger_than: int | None,
    older_than: int | None,
    cause: str | None,
    by_cause: bool,
    namespace: str,
    as_json: bool,
    **target_values: Any,
) -> None:
    """Show one line for each dead letter: message id, time of the first failure, number of memories, and cause.

    If the dead letter was redriven (published again), the line also has the number of failures, and the time from which
    the dead letter can be redriven again.
    """
    criteria = choice(younger_than, older_than, cause) | {"namespace": namespace}
    count = 0
    with memory_system(**target_values, delivers=False) as system:
        if by_cause:
            for group in system.run(CountDeadLetters(**criteria))["causes"]:
                count += group["letters"]
                say(json.dumps(group) if as_json else plain(_format_group(group)))
        else:
            for page in pages(system, ListDeadLetters(**criteria)):
                for letter in page["letters"]:
                    count += 1
                    say(json.dumps(letter) if as_json else plain(_format_letter(letter)))
    if not as_json:
        say(f"{quantity(count, 'dead letter')}.", err=True)


@dead_letters.command()
@click.argument("message_id", callback=refuse_empty)
@NAMESPACE
@target(DATA_DIR, PROJECT)
def show(message_id: str, namespace: str, **target_values: Any) -> None:
    """Write a dead letter's data to standard output, and its attributes, times and cause to standard error.

    If standard output is a terminal, control characters are escaped. Otherwise the data are written byte for byte.
    """
    with memory_system(**target_values, delivers=False) as system:
        answer = system.run(ShowDeadLetter(namespace=namespace, message_id=message_id))
    data = b64decode(answer["data"])
    say(json.dumps(answer["letter"], indent=2), err=True)
    if sys.stdout.isatty():
        say(data.decode(errors="replace"))
    else:
        sys.stdout.buffer.write(data)


@dead_letters.command()
@click.argument("message_ids", nargs=-1, metavar="[MESSAGE_ID]...", callback=refuse_empty)
@choice_options
@click.option("--all", "everything", is_flag=True, help="Every letter of the namespace.")
@click.option("--dry-run", is_flag=True, help="Print how many would be dropped; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@NAMESPACE
@target(DATA_DIR, PROJECT)
def drop(
    message_ids: tuple[str, ...],
    younger_than: int | None,
    older_than: int | None,
    cause: str | None,
    everything: bool,
    dry_run: bool,
    yes: bool,
    namespace: str,
    **target_values: Any,
) -> None:
    """Delete dead letters permanently: by message id, age or cause, or all of them.

    The outcomes of the requests in the dead letters are kept. The command asks for confirmation, unless the user gives
    message ids.
    """
    criteria = choice(younger_than, older_than, cause)
    if everything == bool(message_ids or criteria):
        raise click.UsageError("name message ids, --cause, --younger-than or --older-than, or --all alone")
    with memory_system(**target_values, delivers=False) as system:
        ids = system.run(FindDeadLetters(namespace=namespace, **criteria))["message_ids"]
        if message_ids:
            if missing := sorted(set(message_ids) - set(ids)):
                raise not_found(namespace, missing[0])
            ids = [message_id for message_id in ids if message_id in message_ids]
        if dry_run:
            say(f"{quantity(len(ids), 'dead letter')} would be dropped.")
            return
        if ids and not message_ids and not yes:
            ask_to_confirm(f"Drop {quantity(len(ids), 'dead letter')} of namespace {namespace!r} permanently?", "--yes")
        dropped = 0
        try:
            for batch in slices(ids):
                dropped += system.run(DropDeadLetters(namespace=namespace, message_ids=batch))["dropped"]
        except BaseException:
            say(f"Dropped {quantity(dropped, 'dead letter')} before this step failed:", err=True)
            raise
    say(f"Dropped {message_ids[0]}." if len(message_ids) == 1 else f"Dropped {quantity(dropped, 'dead letter')}.")


def _format_letter(letter: Mapping[str, Any]) -> str:
    parts = [letter["message_id"], minute(letter["dead_lettered_at"])]
    parts.append(quantity(len(letter["request_ids"]), "memory", "memories"))
    if letter["redrives"]:
        until = minute(letter["due_at"])
        parts += [
            quantity(letter["failures"], "failure"),
            f"in flight until {until}" if letter["redriven_at"] else f"due {until}",
        ]
    return "  ".join([*parts, letter["cause"]])


def _format_group(group: Mapping[str, Any]) -> str:
    between = f"{minute(group['oldest'])} to {minute(group['newest'])}"
    return f"{quantity(group['letters'], 'letter')}  {group['in_flight']:,} in flight  {between}  {group['cause']}"
