"""`mnemosyne forget`: delete memories for good, with all their texts in the database, and write a receipt."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import click

from mnemosyne.app.operations.forgetting import BeginForgetting, ContinueForgetting, PreviewForgetting
from mnemosyne.cli.options import FilledPath, text_option
from mnemosyne.cli.private import private
from mnemosyne.cli.receipt import fetch_receipt
from mnemosyne.cli.selecting import selection, selection_options
from mnemosyne.cli.system import System, memory_system, pages
from mnemosyne.cli.target import DATA_DIR, PROJECT, target, target_arguments
from mnemosyne.cli.terminal import ask_to_confirm, explained, plain, say
from mnemosyne.cli.times import local_date
from mnemosyne.domain.plurals import quantity
from mnemosyne.errors import NotFound

PREVIEW_SIZE = 20
"""Maximum memories that are shown before the question whether to forget them."""


@click.command()
@selection_options
@click.option("--dry-run", is_flag=True, help="List all memories that would go, with the token for --confirm.")
@text_option("--confirm", metavar="TOKEN", help="Do not ask: the token of a dry run of exactly these memories.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--continue", "continued", type=click.UUID, metavar="ID", help="Continue a forgetting that was interrupted."
)
@click.option(
    "--receipt", type=FilledPath(dir_okay=False), metavar="FILE", help="Write the signed receipt to this file."
)
@target(DATA_DIR, PROJECT)
def forget(
    dry_run: bool, confirm: str | None, yes: bool, continued: UUID | None, receipt: Path | None, **options: Any
) -> None:
    """Delete selected memories for good, with all their texts in the database.

    The command deletes the memories, their embeddings, ratings and words (the index for searches by words), and their
    texts in dead letters and requests. Messages that were sent earlier will not store the memories again. If there is a
    legal hold on one of the memories, the command fails and deletes nothing.
    """
    target_values = {name: options.pop(name) for name in ("data_dir", "project", "region", "deployment")}
    namespace = options["namespace"]
    # Check the directory of the receipt before anything is deleted.
    if receipt is not None and not receipt.parent.is_dir():
        raise click.UsageError(f"--receipt must be a file in an existing directory, got {receipt}")
    target_options = f"--namespace {shlex.quote(namespace)}{target_arguments(target_values)}"
    with memory_system(**target_values) as system:
        if continued is None:
            criteria = selection(**options)
            preview = system.run(PreviewForgetting(**criteria))
            if dry_run:
                _print_dry_run(system, criteria, preview, options["timezone"], target_options)
                return
            # If there is a legal hold, do not ask, because the deletion fails anyway.
            if not (preview["holds"] or confirm or yes):
                _ask_to_forget(preview, options["timezone"])
            continued = UUID(system.run(BeginForgetting(**criteria, token=confirm or preview["token"]))["id"])
        count = _delete_memories(system, namespace, continued, target_options)
        how_to_show = f"`mnemosyne receipt show {target_options} {continued}` writes the receipt."
        say(f"{quantity(count, 'memory', 'memories')} forgotten. The forgetting's id is {continued}.")
        if receipt is not None:
            with explained(f"the memories are forgotten, but the receipt was not written. {how_to_show}"):
                document = fetch_receipt(system, namespace, continued)
                with private(receipt) as file:
                    file.write(json.dumps(document, indent=1) + "\n")
    if receipt is None:
        say(how_to_show)


def _delete_memories(system: System, namespace: str, forgetting_id: UUID, target_options: str) -> int:
    """Delete the memories that a forgetting (a deletion for good) has selected, and return their number.

    If the deletion is interrupted, print the command that continues it. `target_options` are the options of the
    running command that name the system and the namespace. The printed command repeats them.
    """
    try:
        *_, last = pages(system, ContinueForgetting(namespace=namespace, id=forgetting_id))
    except NotFound:  # no forgetting has this id, so the command below would not help
        raise
    except BaseException:
        say(f"Interrupted: `mnemosyne forget {target_options} --continue {forgetting_id}` continues.", err=True)
        raise
    count: int = last["memories"]
    return count


def _ask_to_forget(preview: Mapping[str, Any], timezone: str) -> None:
    """Show the memories that would be forgotten, and ask whether to forget them."""
    _print_memories(preview["page"][:PREVIEW_SIZE], timezone)
    if preview["memories"] > PREVIEW_SIZE:
        say(f"… and {preview['memories'] - PREVIEW_SIZE:,} more; --dry-run lists all.")
    if number := preview["memories"]:
        count = quantity(number, "memory", "memories")
        question = f"Forget {count} for good? Messages that were sent before will not store them again."
    else:  # no stored memory matches, but ask, because the queue may still have messages with matching memories
        question = "No stored memory matches. Forget the matching memories of messages that were sent before?"
    ask_to_confirm(question, "--yes, or --confirm with the token of --dry-run")


def _print_dry_run(
    system: System, criteria: Mapping[str, Any], preview: Mapping[str, Any], timezone: str, target_options: str
) -> None:
    page = preview
    while True:
        _print_memories(page["page"], timezone)
        if not page["cursor"]:
            break
        page = system.run(PreviewForgetting(**criteria, cursor=page["cursor"]))
    say(f"{quantity(preview['memories'], 'memory', 'memories')}; nothing was deleted.")
    for hold in preview["holds"]:
        say(f"The legal hold {hold['id']} ({plain(hold['reason'])}) keeps some of them, so none can be forgotten.")
        say(f"`mnemosyne holds release {target_options} {hold['id']}` releases the hold.")
    if not preview["holds"]:
        say(f"The same command with --confirm {preview['token']} deletes them.")


def _print_memories(page: Sequence[Mapping[str, str]], timezone: str) -> None:
    for memory in page:
        say(f"{local_date(memory['timestamp'], timezone)}  {memory['id']}  {plain(memory['beginning'])}")
