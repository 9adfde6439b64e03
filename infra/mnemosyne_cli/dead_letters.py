"""`mnemosyne dead-letters`: what was given up, or could not be read, whole and with its cause."""

import json
import sys
from typing import Any

import click

from mnemosyne.domain.memory import DeadLetter
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.errors import NotFound
from mnemosyne.service.dead_letters import request_ids_in
from mnemosyne_cli.all_dead_letters import all_dead_letters
from mnemosyne_cli.open_services import DEFAULT_NAMESPACE, open_services
from mnemosyne_cli.terminal import plain

_NAMESPACE = click.option(
    "--namespace",
    default=DEFAULT_NAMESPACE,
    show_default=True,
    help='Whose messages; "" is that of messages that name none.',
)
_DATA_DIR = click.option("--data-dir", metavar="DIR", help="Work on a local system in this directory.")


@click.group(name="dead-letters")
def dead_letters() -> None:
    """Messages that were given up or could not be read: list, show and drop them; `redrive` puts them back."""


@dead_letters.command(name="list")
@_NAMESPACE
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@_DATA_DIR
def list_(namespace: str, as_json: bool, data_dir: str | None) -> None:
    """One line each: message id, when, memories that can be named, cause."""
    with open_services(data_dir) as services:
        count = 0
        for dead_letter in all_dead_letters(services.memories, namespace):
            count += 1
            shown = _shown(dead_letter, namespace)
            when, memories = f"{dead_letter.dead_lettered_at:%Y-%m-%d %H:%M}", len(shown["request_ids"])
            line = plain(f"{dead_letter.message_id}  {when}  {memories} memories  {dead_letter.cause}")
            click.echo(json.dumps(shown) if as_json else line)
    if not as_json:
        click.echo(f"{count} dead letters.", err=True)


@dead_letters.command()
@click.argument("message_id")
@_NAMESPACE
@_DATA_DIR
def show(message_id: str, namespace: str, data_dir: str | None) -> None:
    """Write one message's data, byte for byte, to standard output; what is known of it to standard error."""
    with open_services(data_dir) as services:
        dead_letter = next(
            (one for one in all_dead_letters(services.memories, namespace) if one.message_id == message_id), None
        )
    if dead_letter is None:
        raise NotFound(f"no dead letter of namespace {namespace!r} has the message id {message_id}")
    click.echo(json.dumps(_shown(dead_letter, namespace), indent=2), err=True)
    sys.stdout.buffer.write(dead_letter.data)


@dead_letters.command()
@click.argument("message_id")
@_NAMESPACE
@_DATA_DIR
def drop(message_id: str, namespace: str, data_dir: str | None) -> None:
    """Forget one message for good. Outcomes of its requests stay."""
    with open_services(data_dir) as services:
        if all(one.message_id != message_id for one in all_dead_letters(services.memories, namespace)):
            raise NotFound(f"no dead letter of namespace {namespace!r} has the message id {message_id}")
        services.memories.delete_dead_letter(namespace, message_id)
    click.echo(f"Dropped {message_id}.")


def _shown(dead_letter: DeadLetter, namespace: str) -> dict[str, Any]:
    return {
        "message_id": dead_letter.message_id,
        "dead_lettered_at": rfc3339(dead_letter.dead_lettered_at),
        "cause": dead_letter.cause,
        "attributes": dict(dead_letter.attributes),
        "bytes": len(dead_letter.data),
        "request_ids": [str(one) for one in request_ids_in(namespace, dead_letter)],
    }
