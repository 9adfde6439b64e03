"""`mnemosyne redrive`: publish dead letters again."""

import json
import sys
from dataclasses import replace
from datetime import timedelta

import click

from mnemosyne.cli.all_dead_letters import choice, choice_options
from mnemosyne.cli.open_services import DEFAULT_NAMESPACE, open_services
from mnemosyne.cli.target import DATA_DIR, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.domain.dead_letter import Redrivable
from mnemosyne.domain.memory import DeadLetter
from mnemosyne.domain.plurals import counted
from mnemosyne.service import dead_letters


@click.command()
@choice_options
@click.option("--namespace", default=DEFAULT_NAMESPACE, show_default=True, help="Letters of this namespace.")
@click.option(
    "--message-id", "message_ids", multiple=True, metavar="ID", help="Only these letters, even if they back off."
)
@click.option("--into", metavar="NAMESPACE", help='The namespace to store them in; only with --namespace "".')
@click.option("--now", is_flag=True, help="Also letters that back off because they have failed again.")
@click.option("--dry-run", is_flag=True, help="Print what would be published; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@target(DATA_DIR)
def redrive(
    younger_than: timedelta | None,
    older_than: timedelta | None,
    cause: str | None,
    namespace: str,
    message_ids: tuple[str, ...],
    into: str | None,
    now: bool,
    dry_run: bool,
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Publish dead letters again: all that are due, or by age and cause. Each at most once.

    A letter stays until its message has an outcome. If it fails again, it backs off: for 10 minutes after its first
    redrive, and twice as long after each further one, up to a day. While it is in flight it is left alone, until it
    fails or for 24 hours.

    `--namespace ""` selects the messages without a namespace; --into names the namespace to store them in.

    Exits with 1 if a letter could not be published.
    """
    _check_target(namespace, into)
    redrivable = Redrivable.NOW if now or message_ids else Redrivable.DUE
    chosen = replace(choice(younger_than, older_than, cause), message_ids=message_ids or None, redrivable=redrivable)
    letters: list[dict[str, str]] = []
    problems: list[dict[str, str]] = []
    with open_services(data_dir) as services:
        due = len(services.memories_of(namespace).dead_letter_ids(chosen))
        waiting = len(services.memories_of(namespace).dead_letter_ids(replace(chosen, redrivable=None))) - due
        for attempt in dead_letters.redrive_chosen(
            chosen, memories=services.memories_of(namespace), queue=services.queue, into=into, dry_run=dry_run
        ):
            if attempt.problem or attempt.letter is None:
                problems.append({"message_id": attempt.message_id, "problem": attempt.problem})
                say(plain(attempt.problem), err=True)
                continue
            letters.append({"message_id": attempt.message_id, "cause": attempt.letter.cause})
            if not as_json:
                say(_line(attempt.letter, len(attempt.request_ids)))
    if as_json:
        kinds = {"redriven": [] if dry_run else letters, "would_redrive": letters if dry_run else []}
        say(json.dumps({**kinds, "problems": problems}))
    else:
        verb = "would be" if dry_run else "was" if len(letters) == 1 else "were"
        say(f"{counted(len(letters), 'dead letter')} {verb} published again.")
        _note_others(0 if message_ids else waiting, due - len(letters) - len(problems))
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


def _line(letter: DeadLetter, count: int) -> str:
    when = f"{letter.dead_lettered_at:%Y-%m-%d %H:%M}"
    return plain(f"{letter.message_id}  {when}  {counted(count, 'memory', 'memories')}  {letter.cause}")


def _note_others(waiting: int, untried: int) -> None:
    """Print to stderr how many letters were not published, and why."""
    if waiting > 0:
        say(f"In flight or backing off: {waiting}. `mnemosyne dead-letters list` says until when.", err=True)
    if untried > 0:
        say(f"Not tried: {untried}. Run the command again once that is fixed.", err=True)
