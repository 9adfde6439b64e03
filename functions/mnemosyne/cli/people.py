"""`mnemosyne people`: block people from logging in, here or in a deployment."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from mnemosyne.adapters.database.blocked_people import PostgresBlockedPeople
from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.deployment import Deployment
from mnemosyne.cli.open_services import owner_connection_factory
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.domain.oauth import blocked_name
from mnemosyne.domain.plurals import counted
from mnemosyne.errors import NotFound


def _who(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Return the address or subject in the form in which it is stored; a click callback."""
    try:
        return blocked_name(value)
    except ValueError as exc:
        raise click.BadParameter(str(exc)) from exc


_WHO = click.argument("who", metavar="WHO", callback=_who)


@click.group(cls=FullHelpGroup)
def people() -> None:
    """Block people from logging in, even if an access rule admits them.

    WHO is an address or a subject of the identity provider.
    """


@people.command(name="list")
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool, **place: Any) -> None:
    """Show who is blocked."""
    with _people(**place) as store:
        blocked = store.blocked()
    if as_json:
        say(json.dumps(blocked))
        return
    for person in blocked:
        say(f"{person['blocked_at'][:10]}  {plain(person['who'])}")


@people.command()
@_WHO
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def block(who: str, as_json: bool, **place: Any) -> None:
    """Refuse a person's log-ins and end their grants, within 30 seconds. API keys are not affected."""
    with _people(**place) as store:
        revoked = list(store.block(who))
    ended = counted(len(revoked), "grant")
    result = json.dumps({"who": who, "revoked": revoked})
    say(result if as_json else f"Blocked {plain(who)}; {ended} end within 30 seconds.")


@people.command()
@_WHO
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def unblock(who: str, as_json: bool, **place: Any) -> None:
    """Let a person log in again."""
    with _people(**place) as store:
        if not store.unblock(who):
            raise NotFound(f"{who} is not blocked: see `mnemosyne people list`")
    say(json.dumps({"who": who}) if as_json else f"{plain(who)} may log in again, if an access rule admits them.")


class _RemoteBlockedPeople:
    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def blocked(self) -> Sequence[dict[str, Any]]:
        blocked: list[dict[str, Any]] = self._deployment.post("people", action="list")["blocked"]
        return blocked

    def block(self, who: str) -> Sequence[str]:
        revoked: list[str] = self._deployment.post("people", action="block", who=who)["revoked"]
        return revoked

    def unblock(self, who: str) -> bool:
        return bool(self._deployment.post("people", action="unblock", who=who))


@contextmanager
def _people(
    project: str | None, region: str, deployment: str, data_dir: str | None
) -> Iterator[PostgresBlockedPeople | _RemoteBlockedPeople]:
    if project is not None:
        yield _RemoteBlockedPeople(Deployment(project, region, deployment))
        return
    with owner_connection_factory(data_dir) as connection_factory:
        yield PostgresBlockedPeople(connection_factory)
