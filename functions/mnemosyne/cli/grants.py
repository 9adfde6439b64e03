"""`mnemosyne grants`: list and revoke grants, locally or in a deployment.

A grant is the access that a person has given to an OAuth client.
"""

import json
from typing import Any
from uuid import UUID

import click

from mnemosyne.app.operations.access import ListGrants, RevokeGrants
from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.options import JSON, text_option
from mnemosyne.cli.system import owners_system
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import column, plain, say
from mnemosyne.cli.times import minute
from mnemosyne.domain.plurals import quantity

_PERSON = text_option("--person", metavar="WHO", help="Grants of this person: address or subject at the provider.")


@click.group(cls=FullHelpGroup)
def grants() -> None:
    """List and revoke the grants that people gave to their clients."""


@grants.command(name="list")
@_PERSON
@target(DATA_DIR, PROJECT)
@JSON
def list_(person: str | None, as_json: bool, **target_values: Any) -> None:
    """Show the valid grants: which person gave which client access, and until when."""
    with owners_system(**target_values) as system:
        grants_ = system.run(ListGrants(person=person))["grants"]
    if as_json:
        say(json.dumps(grants_))
        return
    for grant in grants_:
        name, client = plain(grant["person"]), plain(grant["client"] or grant["client_id"])
        scopes, until = ",".join(sorted(grant["scopes"])), grant["expires_at"][:10]
        last_use = f"used {minute(grant['last_used_at'])}" if grant["last_used_at"] else "never used"
        say(f"{grant['id']}  until {until}  {last_use:22}{scopes:12}{column(grant['namespace'], 29)} {name}: {client}")
    if not grants_:
        say("There are no valid grants.")


@grants.command()
@click.argument("ids", nargs=-1, metavar="ID…", type=click.UUID)
@_PERSON
@target(DATA_DIR, PROJECT)
@JSON
def revoke(ids: tuple[UUID, ...], person: str | None, as_json: bool, **target_values: Any) -> None:
    """Revoke grants. The clients lose their access within 30 seconds.

    The person can log in again and give a new grant, unless the person is locked out.
    """
    if not ids and person is None:
        raise click.UsageError("name at least one ID, or --person")
    with owners_system(**target_values) as system:
        grant_ids = system.run(RevokeGrants(ids=list(ids), person=person))["revoked"]
    say(
        json.dumps({"revoked": grant_ids})
        if as_json
        else f"Revoked {quantity(len(grant_ids), 'grant')}, within 30 seconds."
    )
