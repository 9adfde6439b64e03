"""`mnemosyne receipt`: show and verify signed receipts of forgettings (deletions of all selected memories).

A receipt states how many memories were deleted, and where copies remain (such as backups) and until when.
"""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import click

from mnemosyne.app.operations.forgetting import IssueReceipt, ListForgettings, ListForgotten, ListReceiptKeys
from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.options import NAMESPACE
from mnemosyne.cli.system import System, memory_system, pages
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.domain.parsing import read_json
from mnemosyne.domain.plurals import quantity
from mnemosyne.errors import InvalidRequest


@click.group(cls=FullHelpGroup)
def receipt() -> None:
    """Show and verify signed receipts of forgettings (permanent deletions, as by `mnemosyne forget`)."""


@receipt.command()
@click.argument("forgetting", type=click.UUID)
@NAMESPACE
@target(DATA_DIR, PROJECT)
def show(forgetting: UUID, namespace: str, **target_values: Any) -> None:
    """Write the receipt of a finished forgetting (permanent deletion) to standard output, as JSON."""
    with memory_system(**target_values) as system:
        say(json.dumps(fetch_receipt(system, namespace, forgetting), indent=1))


@receipt.command("list")
@NAMESPACE
@target(DATA_DIR, PROJECT)
def list_(namespace: str, **target_values: Any) -> None:
    """List the latest 100 forgettings (permanent deletions), also unfinished ones."""
    with memory_system(**target_values) as system:
        forgettings = system.run(ListForgettings(namespace=namespace))["forgettings"]
    for forgetting in forgettings:
        count = quantity(forgetting["memories"], "memory", "memories")
        finished = forgetting["finished_at"]
        state = f"finished {finished}" if finished else f"not finished, {forgetting['left']:,} left"
        selection = plain(json.dumps(forgetting["selection"]))
        say(f"{forgetting['id']}  {forgetting['started_at']}  {count}  {state}  {selection}")
    if not forgettings:
        say(f"nothing was forgotten in the namespace {plain(namespace)}")


@receipt.command()
@target(DATA_DIR, PROJECT)
def key(**target_values: Any) -> None:
    """Print the public keys that verify receipts, as a JWK Set."""
    with memory_system(**target_values) as system:
        say(json.dumps(system.run(ListReceiptKeys()), indent=1))


@receipt.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@click.option(
    "--key", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="The output of `mnemosyne receipt key`."
)
def verify(file: Path, key: Path | None) -> None:
    """Check offline that a receipt and its list of ids have not changed since the receipt was signed."""
    from mnemosyne.adapters.signing.receipts import verify as verified

    document = _read_json_object(file)
    thumbprint = verified(document, _trusted_keys(_read_json_object(key)) if key else [])
    content = document["receipt"]
    count, namespace = quantity(content["memories"], "memory", "memories"), plain(content["namespace"])
    when = f"from {content['started_at']} to {content['finished_at']}"
    say(f"Valid: {count} of the namespace {namespace} forgotten {when}.")
    say(f"Signed by the key {thumbprint}." + ("" if key else " Compare it with your deployment's, or give --key."))


def fetch_receipt(system: System, namespace: str, forgetting: UUID) -> dict[str, Any]:
    """Return the receipt of a forgetting (permanent deletion), with the ids of the deleted memories."""
    document = system.run(IssueReceipt(namespace=namespace, id=forgetting))
    listing = pages(system, ListForgotten(namespace=namespace, id=forgetting))
    return document | {"ids": [memory_id for page in listing for memory_id in page["ids"]]}


def _trusted_keys(keys: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the keys of a JWK Set, or a list with the key if the argument is a single JWK."""
    key_list = keys.get("keys", [keys])
    if not isinstance(key_list, list) or not key_list:
        raise InvalidRequest("--key must be the output of `mnemosyne receipt key`")
    return key_list


def _read_json_object(file: Path) -> dict[str, Any]:
    with click.open_file(str(file), "rb") as stream:
        document = read_json(stream.read(), of=str(file))
    if not isinstance(document, dict):
        raise InvalidRequest(f"{file} must be a JSON object")
    return document
