"""`mnemosyne holds`: legal holds, which prevent the deletion and the expiry of memories."""

import json
from typing import Any
from uuid import UUID

import click

from mnemosyne.app.operations.holds import ListHolds, PlaceHold, ReleaseHold, SuspendExpiry
from mnemosyne.app.operations.retention import ApplyRetention
from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.options import JSON, NAMESPACE, text_option
from mnemosyne.cli.selecting import selection, selection_options
from mnemosyne.cli.system import owners_system, pages
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import explained, plain, say
from mnemosyne.domain.plurals import quantity
from mnemosyne.errors import NotFound


@click.group(cls=FullHelpGroup)
def holds() -> None:
    """Show, place and release legal holds."""


@holds.command(name="list")
@text_option("--namespace", help="Only of this namespace [default: all].")
@JSON
@target(DATA_DIR, PROJECT)
def list_(namespace: str | None, as_json: bool, **target_values: Any) -> None:
    """Show the legal holds of a namespace, or of all namespaces."""
    with owners_system(**target_values) as system:
        holds = system.run(ListHolds(namespace=namespace))["holds"]
    if as_json:
        say(json.dumps(holds))
        return
    for hold in holds:
        selection_text = plain(json.dumps(hold["selection"], ensure_ascii=False))
        since = f"since {hold['placed_at'][:10]}, placed by {plain(hold['placed_by'])}"
        say(f"{hold['id']}  {plain(hold['namespace'])}  {selection_text}  {since}")
        say(f"    {plain(hold['reason'])}")
    if not holds:
        say("There are no holds.")


@holds.command(name="place")
@selection_options
@text_option("--reason", required=True, help="Shown to everybody whose deletion it prevents.")
@target(DATA_DIR, PROJECT)
def place_(reason: str, **options: Any) -> None:
    """Place a legal hold: selected memories are kept until the hold is released.

    The hold also keeps memories that match the selection and are stored later.
    """
    target_values = {name: options.pop(name) for name in ("data_dir", "project", "region", "deployment")}
    with owners_system(**target_values) as system:
        hold_id = system.run(PlaceHold(**selection(**options), reason=reason))["id"]
        suspending = pages(system, SuspendExpiry(namespace=options["namespace"], id=hold_id))
        with explained(
            f"the hold {hold_id} is in force, but the expiry of some memories may not be suspended. Release the hold "
            "and place it again."
        ):
            suspended = sum(page["suspended"] for page in suspending)
    say(f"Placed the hold {hold_id}. The expiry of {quantity(suspended, 'memory', 'memories')} is suspended.")


@holds.command()
@click.argument("hold", type=click.UUID)
@NAMESPACE
@target(DATA_DIR, PROJECT)
def release(hold: UUID, namespace: str, **target_values: Any) -> None:
    """Release a legal hold. Memories that are under no other hold can be deleted again.

    If the expiry time of such a memory has passed, the memory expires at once.
    """
    with owners_system(**target_values) as system:
        missing: NotFound | None = None
        try:
            system.run(ReleaseHold(namespace=namespace, id=hold))
        except NotFound as exc:
            # Continue even if the hold is missing. An interrupted run of this command may have released it, but not yet
            # restored the expiry of the memories.
            missing = exc
        with explained("the hold may be released. Run the same command again to give all memories their expiry again."):
            count = sum(page["changed"] for page in pages(system, ApplyRetention(namespace=namespace)))
    if missing and not count:
        raise missing
    say(f"The hold {hold} is released. {quantity(count, 'memory has', 'memories have')} an expiry again.")
