"""`mnemosyne dead-letters`: what was given up, or could not be read, whole and with its cause."""

import json
import sys
from typing import Any

import click

from infra.cli.letters import letters
from infra.cli.target import DEFAULT_NAMESPACE, target
from infra.cli.terminal import plain
from mnemosyne import bootstrap
from mnemosyne.domain.memory import DeadLetter
from mnemosyne.domain.time_window import rfc3339
from mnemosyne.errors import NotFound

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
    with target(data_dir) as system:
        count = 0
        for letter in letters(system.memories, namespace):
            count += 1
            shown = _shown(letter, namespace)
            when, memories = f"{letter.dead_lettered_at:%Y-%m-%d %H:%M}", len(shown["request_ids"])
            line = plain(f"{letter.message_id}  {when}  {memories} memories  {letter.cause}")
            click.echo(json.dumps(shown) if as_json else line)
    if not as_json:
        click.echo(f"{count} dead letters.", err=True)


@dead_letters.command()
@click.argument("message_id")
@_NAMESPACE
@_DATA_DIR
def show(message_id: str, namespace: str, data_dir: str | None) -> None:
    """Write one message's data, byte for byte, to standard output; what is known of it to standard error."""
    with target(data_dir) as system:
        letter = next((one for one in letters(system.memories, namespace) if one.message_id == message_id), None)
    if letter is None:
        raise NotFound(f"no dead letter of namespace {namespace!r} has the message id {message_id}")
    click.echo(json.dumps(_shown(letter, namespace), indent=2), err=True)
    sys.stdout.buffer.write(letter.data)


@dead_letters.command()
@click.argument("message_id")
@_NAMESPACE
@_DATA_DIR
def drop(message_id: str, namespace: str, data_dir: str | None) -> None:
    """Forget one message for good. Outcomes of its requests stay."""
    with target(data_dir) as system:
        if all(one.message_id != message_id for one in letters(system.memories, namespace)):
            raise NotFound(f"no dead letter of namespace {namespace!r} has the message id {message_id}")
        system.memories.forget(namespace, message_id)
    click.echo(f"Dropped {message_id}.")


def _shown(letter: DeadLetter, namespace: str) -> dict[str, Any]:
    return {
        "message_id": letter.message_id,
        "dead_lettered_at": rfc3339(letter.dead_lettered_at),
        "cause": letter.cause,
        "attributes": dict(letter.attributes),
        "bytes": len(letter.data),
        "request_ids": [str(one) for one in bootstrap.carried(namespace, letter)],
    }
