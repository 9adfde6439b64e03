"""`mnemosyne dead-letters`: list, show and drop messages whose delivery was given up or that cannot be read."""

import json
import sys
from dataclasses import replace
from datetime import timedelta
from typing import Any

import click

from mnemosyne.cli.all_dead_letters import NAMESPACE, all_dead_letters, choice, choice_options
from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.open_services import open_services
from mnemosyne.cli.target import DATA_DIR, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.domain.dead_letter import DeadLetterCause, DeadLetterChoice
from mnemosyne.domain.memory import DeadLetter
from mnemosyne.domain.plurals import counted
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.errors import NotFound
from mnemosyne.service.dead_letters import request_ids_in


@click.group(name="dead-letters", cls=FullHelpGroup)
def dead_letters() -> None:
    """List, show and drop messages that were given up or cannot be read; `redrive` publishes them again."""


@dead_letters.command(name="list")
@choice_options
@click.option("--by-cause", is_flag=True, help="Count letters by cause; # replaces ids and numbers.")
@NAMESPACE
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@target(DATA_DIR)
def list_(
    younger_than: timedelta | None,
    older_than: timedelta | None,
    cause: str | None,
    by_cause: bool,
    namespace: str,
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Show a line per letter: message id, first failure, memories, failures, next redrive, cause."""
    chosen = choice(younger_than, older_than, cause)
    count = 0
    with open_services(data_dir) as services:
        if by_cause:
            for group in services.memories_of(namespace).dead_letter_causes(chosen):
                count += group.letters
                say(json.dumps(_group_json(group)) if as_json else plain(_group_line(group)))
        else:
            for letter in all_dead_letters(services.memories_of(namespace), chosen):
                count += 1
                say(json.dumps(_letter_json(letter, namespace)) if as_json else plain(_line(letter, namespace)))
    if not as_json:
        say(f"{counted(count, 'dead letter')}.", err=True)


@dead_letters.command()
@click.argument("message_id")
@NAMESPACE
@target(DATA_DIR)
def show(message_id: str, namespace: str, data_dir: str | None) -> None:
    """Write a message's data to standard output, and its attributes, times and cause to standard error.

    The data are unchanged bytes, unless standard output is a terminal.
    """
    with open_services(data_dir) as services:
        letter = services.memories_of(namespace).dead_letter(message_id)
    if letter is None:
        raise _not_found(namespace, message_id)
    say(json.dumps(_letter_json(letter, namespace), indent=2), err=True)
    if sys.stdout.isatty():
        say(letter.data.decode(errors="replace"))
    else:
        sys.stdout.buffer.write(letter.data)


@dead_letters.command()
@click.argument("message_ids", nargs=-1, metavar="[MESSAGE_ID]...")
@choice_options
@click.option("--all", "everything", is_flag=True, help="Every letter of the namespace.")
@click.option("--dry-run", is_flag=True, help="Print how many would be dropped; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@NAMESPACE
@target(DATA_DIR)
def drop(
    message_ids: tuple[str, ...],
    younger_than: timedelta | None,
    older_than: timedelta | None,
    cause: str | None,
    everything: bool,
    dry_run: bool,
    yes: bool,
    namespace: str,
    data_dir: str | None,
) -> None:
    """Delete messages permanently: by id, age or cause, or all. The outcomes of their requests stay.

    No confirmation is asked for message ids.
    """
    chosen = replace(choice(younger_than, older_than, cause), message_ids=message_ids or None)
    if everything != (chosen == DeadLetterChoice()):
        raise click.UsageError("name message ids, --cause, --younger-than or --older-than, or --all alone")
    with open_services(data_dir) as services:
        ids = services.memories_of(namespace).dead_letter_ids(chosen)
        if missing := sorted(set(message_ids) - set(ids)):
            raise _not_found(namespace, missing[0])
        if dry_run:
            say(f"{counted(len(ids), 'dead letter')} would be dropped.")
            return
        if ids and not message_ids and not yes:
            click.confirm(
                f"Drop {counted(len(ids), 'dead letter')} of namespace {namespace!r} permanently?", abort=True
            )
        dropped = services.memories_of(namespace).drop_dead_letters(ids)
    say(f"Dropped {message_ids[0]}." if len(message_ids) == 1 else f"Dropped {counted(dropped, 'dead letter')}.")


def _not_found(namespace: str, message_id: str) -> NotFound:
    return NotFound(f"no dead letter of namespace {namespace!r} has the message id {message_id}")


def _line(letter: DeadLetter, namespace: str) -> str:
    first = f"{letter.dead_lettered_at:%Y-%m-%d %H:%M}"
    parts = [letter.message_id, first, counted(len(request_ids_in(namespace, letter)), "memory", "memories")]
    if letter.redrives:
        until = f"{letter.due_at:%Y-%m-%d %H:%M}"
        parts += [
            counted(letter.failures, "failure"),
            f"in flight until {until}" if letter.redriven_at else f"due {until}",
        ]
    return "  ".join([*parts, letter.cause])


def _letter_json(letter: DeadLetter, namespace: str) -> dict[str, Any]:
    return {
        "message_id": letter.message_id,
        "dead_lettered_at": rfc3339(letter.dead_lettered_at),
        "last_failed_at": rfc3339(letter.last_failed_at),
        "failures": letter.failures,
        "redrives": letter.redrives,
        "redriven_at": rfc3339(letter.redriven_at),
        "due_at": rfc3339(letter.due_at),
        "cause": letter.cause,
        "attributes": dict(letter.attributes),
        "bytes": len(letter.data),
        "request_ids": [str(request_id) for request_id in request_ids_in(namespace, letter)],
    }


def _group_json(group: DeadLetterCause) -> dict[str, Any]:
    return {
        "cause": group.cause,
        "letters": group.letters,
        "in_flight": group.in_flight,
        "oldest": rfc3339(group.oldest),
        "newest": rfc3339(group.newest),
    }


def _group_line(group: DeadLetterCause) -> str:
    between = f"{group.oldest:%Y-%m-%d %H:%M} to {group.newest:%Y-%m-%d %H:%M}"
    return f"{counted(group.letters, 'letter')}  {group.in_flight:,} in flight  {between}  {group.cause}"
