"""`mnemosyne lockouts`: lock out people, clients and keys, locally or in a deployment."""

import json
from typing import Any

import click

from mnemosyne.app.operations.access import ListLockouts, LockOut, UndoLockOut
from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.options import JSON, refuse_empty
from mnemosyne.cli.system import owners_system
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.cli.times import minute
from mnemosyne.domain.plurals import quantity

_KIND = click.argument("kind", type=click.Choice(["person", "client", "key"]))
_WHO = click.argument("who", metavar="WHO", callback=refuse_empty)


@click.group(cls=FullHelpGroup)
def lockouts() -> None:
    """Lock out a person, an OAuth client or an API key in all namespaces, or undo a lock-out.

    WHO is one of these: a person's address or subject at the identity provider, a client's id (`grants list --json`
    shows it), or the id of a key.
    """


@lockouts.command(name="list")
@target(DATA_DIR, PROJECT)
@JSON
def list_(as_json: bool, **target_values: Any) -> None:
    """Show who is locked out, and since when."""
    with owners_system(**target_values) as system:
        rows = system.run(ListLockouts())["lockouts"]
    if as_json:
        say(json.dumps(rows))
        return
    for row in rows:
        say(f"{minute(row['blocked_at'])}  {row['kind']:7} {plain(row['who'])}")
    if not rows:
        say("Nobody is locked out.")


@lockouts.command()
@_KIND
@_WHO
@target(DATA_DIR, PROJECT)
@JSON
def add(kind: str, who: str, as_json: bool, **target_values: Any) -> None:
    """Lock out a person, a client or a key.

    The lock-out takes effect within 30 seconds (10 minutes while the database cannot be reached). A locked-out person
    cannot log in, even if an access rule admits them, and their grants end. A locked-out client gets no code and no
    token, and its grants end. A locked-out key is refused. API keys that a locked-out person uses keep working.
    """
    with owners_system(**target_values) as system:
        answer = system.run(LockOut(kind=kind, who=who))  # type: ignore[arg-type]  # click has checked it
    suffix = f"; {quantity(len(answer['revoked']), 'grant')} end" if kind != "key" else ""
    say(json.dumps(answer) if as_json else f"Locked out the {kind} {plain(answer['who'])}{suffix} within 30 seconds.")


@lockouts.command()
@_KIND
@_WHO
@target(DATA_DIR, PROJECT)
@JSON
def remove(kind: str, who: str, as_json: bool, **target_values: Any) -> None:
    """Undo a lock-out. A key works again. Grants that the lock-out ended stay ended."""
    with owners_system(**target_values) as system:
        answer = system.run(UndoLockOut(kind=kind, who=who))  # type: ignore[arg-type]  # click has checked it
    say(json.dumps(answer) if as_json else f"The {kind} {plain(answer['who'])} is no longer locked out.")
