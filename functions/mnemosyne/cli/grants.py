"""`mnemosyne grants`: list and revoke the grants that people gave to their clients, locally or in a deployment."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import click

from mnemosyne.adapters.database.grants import PostgresGrantStore
from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.deployment import Deployment
from mnemosyne.cli.open_services import owner_connection_factory
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.domain.plurals import counted
from mnemosyne.errors import NotFound

_PERSON = click.option("--person", metavar="WHO", help="Grants of this person: address or subject at the provider.")


@click.group(cls=FullHelpGroup)
def grants() -> None:
    """List and revoke the grants that people gave to their clients."""


@grants.command(name="list")
@_PERSON
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(person: str | None, as_json: bool, **place: Any) -> None:
    """Show the valid grants."""
    with _grants(**place) as store:
        grants_ = store.every(person)
    if as_json:
        say(json.dumps(grants_))
        return
    for grant in grants_:
        who, client = plain(grant["person"]), plain(grant["client"] or grant["client_id"])
        scopes, until = ",".join(sorted(grant["scopes"])), grant["expires_at"][:10]
        say(f"{grant['id']}  until {until}  {scopes:12}{plain(grant['namespace']):30}{who}: {client}")


@grants.command()
@click.argument("ids", nargs=-1, metavar="ID…", type=click.UUID)
@_PERSON
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def revoke(ids: tuple[UUID, ...], person: str | None, as_json: bool, **place: Any) -> None:
    """Revoke grants, within 30 seconds. A person who is not blocked may log in again."""
    if not ids and person is None:
        raise click.UsageError("name at least one ID, or --person")
    with _grants(**place) as store:
        revoked = store.revoke(ids, person)
    if not revoked:
        raise NotFound(f"no grant of {person or ', '.join(map(str, ids))} is valid: see `mnemosyne grants list`")
    say(
        json.dumps({"revoked": list(revoked)})
        if as_json
        else f"Revoked {counted(len(revoked), 'grant')}, within 30 seconds."
    )


class _RemoteGrants:
    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def every(self, person: str | None) -> Sequence[dict[str, Any]]:
        filters = {"person": person} if person else {}
        grants_: list[dict[str, Any]] = self._deployment.post("grants", action="list", **filters)["grants"]
        return grants_

    def revoke(self, ids: Sequence[UUID], person: str | None) -> Sequence[str]:
        filters = {"person": person} if person else {}
        revoked: list[str] = self._deployment.post("grants", action="revoke", ids=[*map(str, ids)], **filters)[
            "revoked"
        ]
        return revoked


@contextmanager
def _grants(
    project: str | None, region: str, deployment: str, data_dir: str | None
) -> Iterator[PostgresGrantStore | _RemoteGrants]:
    if project is not None:
        yield _RemoteGrants(Deployment(project, region, deployment))
        return
    with owner_connection_factory(data_dir) as connection_factory:
        yield PostgresGrantStore(connection_factory)
