"""`mnemosyne keys`: create, list and revoke API keys, locally or in a deployment."""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from mnemosyne.app.operations.access import CreateKey, ListKeys, RevokeKey
from mnemosyne.cli.command_group import FullHelpGroup
from mnemosyne.cli.open_services import DEFAULT_NAMESPACE
from mnemosyne.cli.options import JSON, check_name, refuse_empty
from mnemosyne.cli.system import owners_system
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import column, plain, say
from mnemosyne.cli.times import duration, minute
from mnemosyne.domain.lifetime import LONGEST
from mnemosyne.domain.principal import Scope
from mnemosyne.errors import InvalidRequest
from mnemosyne.service import api_keys


@click.group(cls=FullHelpGroup)
def keys() -> None:
    """Create, list and revoke the API keys of agents."""


def _parse_lifetime(value: str) -> timedelta:
    """Parse the lifetime of a key: a number of days, or a duration. This is a type for click. Raises BadParameter."""
    lifetime = timedelta()
    with suppress(click.BadParameter):
        lifetime = timedelta(seconds=duration(f"{value}d" if value.isdecimal() else value))
    if not timedelta() < lifetime <= LONGEST:
        raise click.BadParameter(
            f"must be a number of days from 1 to {LONGEST.days}, or a duration such as 12h, 90d or 4w; "
            f"got {value[:60]!r}"
        )
    return lifetime


@keys.command()
@click.option("--name", required=True, callback=check_name, help="What the key is for; shown by `keys list`.")
@click.option(
    "--namespace",
    default=DEFAULT_NAMESPACE,
    show_default=True,
    callback=check_name,
    help="The namespace that it gives access to.",
)
@click.option(
    "--scope", "scopes", multiple=True, type=click.Choice(list(map(str, Scope))), help="[default: read, write]"
)
@click.option(
    "--expires-in",
    metavar="DAYS",
    type=_parse_lifetime,
    help="Days until the key expires, or a duration such as 12h, 90d or 4w [default: never].",
)
@target(DATA_DIR, PROJECT)
@JSON
def create(
    name: str,
    namespace: str,
    scopes: tuple[str, ...],
    expires_in: timedelta | None,
    as_json: bool,
    **target_values: Any,
) -> None:
    """Create a key and print its token. The token is not stored and cannot be shown again."""
    now = datetime.now(UTC)
    key, token = api_keys.new_key(
        name=name,
        namespace=namespace,
        scopes=frozenset(Scope(scope) for scope in scopes or ("read", "write")),
        created_at=now,
        expires_at=now + expires_in if expires_in else None,
    )
    operation = CreateKey(
        id=key.id,
        name=name,
        namespace=namespace,
        scopes=[scope.value for scope in sorted(key.scopes)],
        secret_hash=key.secret_hash.hex(),
        expires_at=key.expires_at,
    )
    with owners_system(**target_values, create=True) as system:
        system.run(operation)
        try:
            say(json.dumps({"id": key.id, "token": token}) if as_json else token)
        except OSError as exc:  # the disk is full, for example, so the user has not received the token
            system.run(RevokeKey(id=key.id))
            raise InvalidRequest(
                f"the token cannot be printed ({exc.strerror}), so the key {key.id} is revoked: run the command again "
                "with an output that can be written"
            ) from exc
    if not as_json:
        say(_how_to_send(token), err=True)


def _how_to_send(token: str) -> str:
    return (
        f"The token is not shown again. If auth_mode is api_key or oauth, send it as `Authorization: Bearer "
        f"{token[:9]}…`. With other values of auth_mode, the server uses no API keys."
    )


@keys.command(name="list")
@target(DATA_DIR, PROJECT)
@JSON
def list_(as_json: bool, **target_values: Any) -> None:
    """Show all keys, without their secrets, which are not stored."""
    with owners_system(**target_values) as system:
        rows = system.run(ListKeys())["keys"]
    if as_json:
        say(json.dumps(rows))
        return
    now = datetime.now(UTC).isoformat()
    for key in rows:
        expires = key["expires_at"]
        state = _key_state(key, now)
        until = f"until {expires[:10]}" if expires else "for ever"
        last_use = f"used {minute(key['last_used_at'])}" if key["last_used_at"] else "never used"
        namespace, name = column(key["namespace"], 20), plain(key["name"])
        say(f"{key['id']}  {state:8}{until:18}{last_use:22}{','.join(key['scopes']):24} {namespace} {name}")
    if not rows:
        say("There are no keys.")


def _key_state(key: dict[str, Any], now: str) -> str:
    if key["revoked_at"]:
        return "revoked"
    if key["blocked_at"]:
        return "blocked"
    return "expired" if key["expires_at"] and key["expires_at"] < now else "valid"


@keys.command()
@click.argument("key_id", callback=refuse_empty)
@target(DATA_DIR, PROJECT)
@JSON
def revoke(key_id: str, as_json: bool, **target_values: Any) -> None:
    """Revoke a key. Servers refuse it after at most 30 seconds (10 minutes while the database cannot be reached)."""
    with owners_system(**target_values) as system:
        system.run(RevokeKey(id=key_id))
    say(json.dumps({"revoked": key_id}) if as_json else f"Revoked {key_id}: it is refused within 30 seconds.")
