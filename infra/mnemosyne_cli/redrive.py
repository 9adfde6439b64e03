"""`mnemosyne redrive`: put what was given up back on the queue."""

import json
from datetime import UTC, datetime, timedelta

import click

from mnemosyne.domain.memory import DeadLetter
from mnemosyne.errors import InvalidRequest
from mnemosyne.service import dead_letters
from mnemosyne_cli.all_dead_letters import all_dead_letters
from mnemosyne_cli.durations import duration
from mnemosyne_cli.open_services import DEFAULT_NAMESPACE, open_services
from mnemosyne_cli.terminal import plain


@click.command()
@click.option("--younger-than", callback=duration, metavar="AGE", help="Only what was given up within 90m, 12h, 7d …")
@click.option("--older-than", callback=duration, metavar="AGE", help="Only what was given up longer ago.")
@click.option("--cause", metavar="TEXT", help="Only where the cause contains this; case is ignored.")
@click.option("--namespace", default=DEFAULT_NAMESPACE, show_default=True, help="Whose memories.")
@click.option("--message-id", metavar="ID", help="Only this one.")
@click.option("--into", metavar="NAMESPACE", help="Whose memories they become, where they are kept under no namespace.")
@click.option("--dry-run", is_flag=True, help="Show what would be put back, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--data-dir", metavar="DIR", help="Work on a local system in this directory.")
def redrive(
    younger_than: timedelta | None,
    older_than: timedelta | None,
    cause: str | None,
    namespace: str,
    message_id: str | None,
    into: str | None,
    dry_run: bool,
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Put dead letters back on the queue: all of them, or by age and cause.

    `--namespace ""` is that of messages that name none: say with --into whose they are.
    """
    if not namespace and not into:
        raise click.UsageError(
            'with --namespace "" say --into NAMESPACE: messages that name none must become somebody\'s'
        )
    shown = []
    with open_services(data_dir) as services:
        for dead_letter in all_dead_letters(services.memories, namespace):
            if not _is_chosen(dead_letter, younger_than, older_than, cause) or message_id not in (
                None,
                dead_letter.message_id,
            ):
                continue
            count = len(dead_letters.request_ids_in(into or namespace, dead_letter))
            try:
                if not dry_run:
                    dead_letters.redrive(
                        namespace, dead_letter, memories=services.memories, queue=services.queue, into=into
                    )
            except InvalidRequest as exc:
                click.echo(plain(exc), err=True)
                continue
            shown.append({"message_id": dead_letter.message_id, "cause": dead_letter.cause})
            if not as_json:
                when = f"{dead_letter.dead_lettered_at:%Y-%m-%d %H:%M}"
                click.echo(plain(f"{dead_letter.message_id}  {when}  {count} memories  {dead_letter.cause}"))
    if as_json:
        click.echo(json.dumps({"redriven": [] if dry_run else shown, "would_redrive": shown if dry_run else []}))
    else:
        click.echo(f"{len(shown)} dead letters {'would be' if dry_run else 'were'} put back.")


def _is_chosen(
    dead_letter: DeadLetter, younger_than: timedelta | None, older_than: timedelta | None, cause: str | None
) -> bool:
    age = datetime.now(UTC) - dead_letter.dead_lettered_at
    return (
        (younger_than is None or age <= younger_than)
        and (older_than is None or age >= older_than)
        and (cause is None or cause.casefold() in dead_letter.cause.casefold())
    )
