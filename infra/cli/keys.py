"""`mnemosyne keys`: make, list and revoke API keys, as the role that owns the schema."""

import json
import sys
from datetime import UTC, datetime, timedelta

import click

from infra.cli.target import DEFAULT_NAMESPACE, owner_session
from mnemosyne import bootstrap
from mnemosyne.adapters import api_keys
from mnemosyne.domain.principal import Scope
from mnemosyne.observability import EventLog, configure_logging

log = EventLog(__name__)

_data_dir = click.option("--data-dir", metavar="DIR", help="Work on a local system in this directory.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def keys() -> None:
    """Make, list and revoke the API keys that agents call with."""
    configure_logging("INFO", sys.stderr)


@keys.command()
@click.option("--name", required=True, help="What the key is for, for whoever lists them.")
@click.option("--namespace", default=DEFAULT_NAMESPACE, show_default=True, help="Whose memories it opens.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([scope.value for scope in Scope]),
    help="[default: read, write]",
)
@click.option("--expires-in", metavar="DAYS", type=click.IntRange(1), help="Days until it expires [default: never].")
@_json
@_data_dir
def create(
    name: str, namespace: str, scopes: tuple[str, ...], expires_in: int | None, as_json: bool, data_dir: str | None
) -> None:
    """Make a key and show its token, this once."""
    now = datetime.now(UTC)
    key, token = bootstrap.new_key(
        name=name,
        namespace=namespace,
        scopes=frozenset(Scope(scope) for scope in scopes or ("read", "write")),
        created_at=now,
        expires_at=now + timedelta(days=expires_in) if expires_in else None,
    )
    with owner_session(data_dir) as session:
        api_keys.create(session, key)
    log.info("audit", action="key_create", outcome="done", key=key.id, namespace=namespace, scopes=sorted(key.scopes))
    if as_json:
        click.echo(json.dumps({"id": key.id, "token": token}))
    else:
        click.echo(f"{token}\n\nThis is the only time it is shown. Send it as `Authorization: Bearer {token[:9]}…`.")


@keys.command(name="list")
@_json
@_data_dir
def list_(as_json: bool, data_dir: str | None) -> None:
    """Show all keys; no secret is kept, so none is shown."""
    with owner_session(data_dir) as session:
        known = api_keys.every(session)
    now = datetime.now(UTC)
    if as_json:
        shown = [
            {
                "id": key.id,
                "name": key.name,
                "namespace": key.namespace,
                "scopes": sorted(key.scopes),
                "created_at": key.created_at.isoformat(),
                "expires_at": key.expires_at and key.expires_at.isoformat(),
                "revoked_at": key.revoked_at and key.revoked_at.isoformat(),
            }
            for key in known
        ]
        click.echo(json.dumps(shown))
        return
    for key in known:
        state = "revoked" if key.revoked_at else "valid" if key.valid(now) else "expired"
        expires = f"until {key.expires_at:%Y-%m-%d}" if key.expires_at else "for ever"
        click.echo(f"{key.id}  {state:8}{expires:18}{','.join(sorted(key.scopes)):12}{key.namespace:20}{key.name}")


@keys.command()
@click.argument("key_id")
@_data_dir
def revoke(key_id: str, data_dir: str | None) -> None:
    """Let a key open nothing any more, within a minute at the latest."""
    with owner_session(data_dir) as session:
        api_keys.revoke(session, key_id)
    log.info("audit", action="key_revoke", outcome="done", key=key_id)
    click.echo(f"Revoked {key_id}; functions that have just seen it notice within half a minute.")
