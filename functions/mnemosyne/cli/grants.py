"""`mnemosyne grants`: what people who log in have let their clients do, here or in a deployment."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import click

from mnemosyne.adapters.database.grants import PostgresGrantStore
from mnemosyne.cli.command_group import WholeSentences
from mnemosyne.cli.deployment import Deployment
from mnemosyne.cli.open_services import owner_connection_factory
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.errors import NotFound

_PERSON = click.option("--person", metavar="WHO", help="Whose: the address or subject that the provider knows.")


@click.group(cls=WholeSentences)
def grants() -> None:
    """List and end what people who log in have let their clients do."""


@grants.command(name="list")
@_PERSON
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(person: str | None, as_json: bool, **place: Any) -> None:
    """Show all grants that stand."""
    with _grants(**place) as known:
        listed = known.every(person)
    if as_json:
        say(json.dumps(listed))
        return
    for one in listed:
        who, client = plain(one["person"]), plain(one["client"] or one["client_id"])
        scopes, until = ",".join(sorted(one["scopes"])), one["expires_at"][:10]
        say(f"{one['id']}  until {until}  {scopes:12}{plain(one['namespace']):30}{who}: {client}")


@grants.command()
@click.argument("ids", nargs=-1, metavar="ID…", type=click.UUID)
@_PERSON
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def revoke(ids: tuple[UUID, ...], person: str | None, as_json: bool, **place: Any) -> None:
    """End grants, within half a minute; who is still let in may log in again."""
    if not ids and person is None:
        raise click.UsageError("name at least one ID, or --person")
    with _grants(**place) as known:
        revoked = known.revoke(ids, person)
    if not revoked:
        raise NotFound(f"no grant of {person or ', '.join(map(str, ids))} stands: see `mnemosyne grants list`")
    say(json.dumps({"revoked": list(revoked)}) if as_json else f"Revoked {len(revoked)}, within half a minute.")


class _There:
    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def every(self, person: str | None) -> Sequence[dict[str, Any]]:
        asked = {"person": person} if person else {}
        listed: list[dict[str, Any]] = self._deployment.post("grants", action="list", **asked)["grants"]
        return listed

    def revoke(self, ids: Sequence[UUID], person: str | None) -> Sequence[str]:
        asked = {"person": person} if person else {}
        revoked: list[str] = self._deployment.post("grants", action="revoke", ids=[*map(str, ids)], **asked)["revoked"]
        return revoked


@contextmanager
def _grants(
    project: str | None, region: str, deployment: str, data_dir: str | None
) -> Iterator[PostgresGrantStore | _There]:
    if project is not None:
        yield _There(Deployment(project, region, deployment))
        return
    with owner_connection_factory(data_dir) as connection_factory:
        yield PostgresGrantStore(connection_factory)
