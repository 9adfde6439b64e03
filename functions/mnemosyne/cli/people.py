"""`mnemosyne people`: block people from logging in, here or in a deployment."""

import json
from typing import Any

import click

from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.system import owners_system
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.domain.oauth import blocked_name
from mnemosyne.domain.plurals import counted
from mnemosyne.service.operations.access import BlockPerson, ListPeople, UnblockPerson


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
    with owners_system(**place) as system:
        blocked = system.run(ListPeople())["blocked"]
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
    with owners_system(**place) as system:
        revoked = system.run(BlockPerson(who=who))["revoked"]
    ended = counted(len(revoked), "grant")
    result = json.dumps({"who": who, "revoked": revoked})
    say(result if as_json else f"Blocked {plain(who)}; {ended} end within 30 seconds.")


@people.command()
@_WHO
@target(DATA_DIR, PROJECT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def unblock(who: str, as_json: bool, **place: Any) -> None:
    """Let a person log in again."""
    with owners_system(**place) as system:
        system.run(UnblockPerson(who=who))
    say(json.dumps({"who": who}) if as_json else f"{plain(who)} may log in again, if an access rule admits them.")
