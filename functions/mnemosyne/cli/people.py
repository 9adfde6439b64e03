"""`mnemosyne people`: block people from logging in, here or in a deployment."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from mnemosyne.adapters.database.blocked_people import PostgresBlockedPeople
from mnemosyne.cli.command_group import WholeSentences
from mnemosyne.cli.deployment import Deployment
from mnemosyne.cli.open_services import owner_connection_factory
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.domain.oauth import blocked_name
from mnemosyne.errors import NotFound


def _who(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Return the address or subject as it is kept."""
    try:
        return blocked_name(value)
    except ValueError as exc:
        raise click.BadParameter(str(exc)) from exc


_WHO = click.argument("who", metavar="WHO", callback=_who)


@click.group(cls=WholeSentences)
def people() -> None:
    """Block people from logging in, whatever rule lets them in.

    WHO is an address or a subject of the identity provider.
    """


@people.command(name="list")
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool, **place: Any) -> None:
    """Show who is blocked."""
    with _people(**place) as store:
        listed = store.blocked()
    if as_json:
        say(json.dumps(listed))
        return
    for person in listed:
        say(f"{person['blocked_at'][:10]}  {plain(person['who'])}")


@people.command()
@_WHO
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def block(who: str, as_json: bool, **place: Any) -> None:
    """Refuse a person's log-ins and end their grants, within half a minute. API keys are not a person's."""
    with _people(**place) as store:
        revoked = list(store.block(who))
    ended = f"{len(revoked)} grant{'' if len(revoked) == 1 else 's'}"
    answer = json.dumps({"who": who, "revoked": revoked})
    say(answer if as_json else f"Blocked {plain(who)}, and ended {ended}, within half a minute.")


@people.command()
@_WHO
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def unblock(who: str, as_json: bool, **place: Any) -> None:
    """Let a person log in again."""
    with _people(**place) as store:
        if not store.unblock(who):
            raise NotFound(f"{who} is not blocked: see `mnemosyne people list`")
    say(json.dumps({"who": who}) if as_json else f"{plain(who)} may log in again, if a rule lets them in.")


class _Deployed:
    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment

    def blocked(self) -> Sequence[dict[str, Any]]:
        listed: list[dict[str, Any]] = self._deployment.post("people", action="list")["blocked"]
        return listed

    def block(self, who: str) -> Sequence[str]:
        revoked: list[str] = self._deployment.post("people", action="block", who=who)["revoked"]
        return revoked

    def unblock(self, who: str) -> bool:
        return bool(self._deployment.post("people", action="unblock", who=who))


@contextmanager
def _people(
    project: str | None, region: str, deployment: str, data_dir: str | None
) -> Iterator[PostgresBlockedPeople | _Deployed]:
    if project is not None:
        yield _Deployed(Deployment(project, region, deployment))
        return
    with owner_connection_factory(data_dir) as connection_factory:
        yield PostgresBlockedPeople(connection_factory)
