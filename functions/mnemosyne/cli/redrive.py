"""`mnemosyne redrive`: publish dead letters (messages that could not be stored) again."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import click

from mnemosyne.app.operations.dead_letters import FindDeadLetters, RedriveDeadLetters
from mnemosyne.cli.dead_letters import choice, choice_options
from mnemosyne.cli.open_services import DEFAULT_NAMESPACE
from mnemosyne.cli.options import JSON, text_option
from mnemosyne.cli.system import System, memory_system, slices
from mnemosyne.cli.target import DATA_DIR, PROJECT, target, target_arguments
from mnemosyne.cli.terminal import FAULTS, explained, plain, say
from mnemosyne.cli.times import minute
from mnemosyne.domain.dead_letter import Redrivable
from mnemosyne.domain.plurals import quantity

INTERRUPTED = "some dead letters may have been published again. Run the same command again for the others."


@click.command()
@choice_options
@click.option("--namespace", default=DEFAULT_NAMESPACE, show_default=True, help="Letters of this namespace.")
@text_option(
    "--message-id", "message_ids", multiple=True, metavar="ID", help="Only these letters, even if they back off."
)
@text_option("--into", metavar="NAMESPACE", help='The namespace to store them in; only with --namespace "".')
@click.option("--now", is_flag=True, help="Also letters that back off because they have failed again.")
@click.option("--dry-run", is_flag=True, help="Print what would be published; change nothing.")
@JSON
@target(DATA_DIR, PROJECT)
def redrive(
    younger_than: int | None,
    older_than: int | None,
    cause: str | None,
    namespace: str,
    message_ids: tuple[str, ...],
    into: str | None,
    now: bool,
    dry_run: bool,
    as_json: bool,
    **target_values: Any,
) -> None:
    """Publish all due dead letters again, each at most once, or only the due ones of a certain age or cause.

    A dead letter is kept until its message has an outcome. If the message fails again, the dead letter is due again 10
    minutes after this failure. This wait doubles with each further redrive, up to a day. A dead letter is in flight if
    its message was published again and has no outcome yet. It is due again when the message fails, or after 24 hours.

    `--namespace ""` selects the messages that name no namespace. Then --into names the namespace to store them in.

    Exits with 1 if a dead letter could not be published.
    """
    _check_target(namespace, into)
    criteria = choice(younger_than, older_than, cause) | {"namespace": namespace}
    redrivable = Redrivable.NOW if now or message_ids else Redrivable.DUE
    letters: list[dict[str, str]] = []
    problems: list[dict[str, str]] = []
    with memory_system(**target_values) as system:
        due = system.run(FindDeadLetters(**criteria, redrivable=redrivable))["message_ids"]
        waiting = len(system.run(FindDeadLetters(**criteria))["message_ids"]) - len(due)
        ids = _in_redrive_order(message_ids, due) if message_ids else due
        for answer in _redrive(system, namespace, ids, now=redrivable is Redrivable.NOW, into=into, dry_run=dry_run):
            for problem in answer["problems"]:
                problems.append(problem)
                say(plain(problem["problem"]), err=True)
            for letter in answer["letters"]:
                letters.append({"message_id": letter["message_id"], "cause": letter["cause"]})
                if not as_json:
                    say(_format_letter(letter))
    if as_json:
        kinds = {"redriven": [] if dry_run else letters, "would_redrive": letters if dry_run else []}
        say(json.dumps({**kinds, "problems": problems}))
    else:
        verb = "would be" if dry_run else "was" if len(letters) == 1 else "were"
        say(f"{quantity(len(letters), 'dead letter')} {verb} published again.")
        options = f"--namespace {shlex.quote(namespace)}{target_arguments(target_values)}"
        _print_unpublished(0 if message_ids else waiting, len(ids) - len(letters) - len(problems), options)
    if problems:
        say(f"{len(problems)} could not be published again.", err=True)
        sys.exit(1)


def _check_target(namespace: str, into: str | None) -> None:
    if bool(namespace) == bool(into):
        raise click.UsageError(
            '--into is for --namespace "" only: other letters are redriven into their own namespace'
            if namespace
            else 'with --namespace "" give --into NAMESPACE: the messages name no namespace to store them in'
        )


def _in_redrive_order(message_ids: Sequence[str], due: Sequence[str]) -> list[str]:
    """Return the message ids in the order of redriving: first the ids of due dead letters, then all others.

    `due` has the ids of all due dead letters, oldest first.
    """
    ids = dict.fromkeys(message_ids)
    return list(dict.fromkeys([*(message_id for message_id in due if message_id in ids), *ids]))


def _redrive(
    system: System, namespace: str, ids: Sequence[str], *, now: bool, into: str | None, dry_run: bool
) -> Iterator[dict[str, Any]]:
    """Publish dead letters again, until all have been tried or the queue is unavailable.

    Each operation publishes a limited number of dead letters. The answers of the operations are yielded.
    """
    remaining = list(ids)
    errors: type[BaseException] | tuple[type[BaseException], ...] = FAULTS
    while remaining:
        batch = next(slices(remaining))
        operation = RedriveDeadLetters(namespace=namespace, message_ids=batch, now=now, into=into, dry_run=dry_run)
        with nullcontext() if dry_run else explained(INTERRUPTED, errors):
            answer = system.run(operation)
        # The first operation may have published dead letters. So if a later operation fails, print the note after every
        # kind of error.
        errors = BaseException
        yield answer
        if answer["stopped"]:
            return
        remaining = [*answer["untried"], *remaining[len(batch) :]]


def _format_letter(letter: Mapping[str, Any]) -> str:
    count = quantity(letter["memories"], "memory", "memories")
    return plain(f"{letter['message_id']}  {minute(letter['dead_lettered_at'])}  {count}  {letter['cause']}")


def _print_unpublished(waiting: int, untried: int, target_options: str) -> None:
    """Print the number of dead letters that were not published, and the reason, to stderr."""
    if waiting > 0:
        list_ = f"`mnemosyne dead-letters list {target_options}`"
        say(f"In flight or backing off: {waiting}. {list_} says until when.", err=True)
    if untried > 0:
        say(f"Not tried: {untried}. Run the command again once that is fixed.", err=True)
