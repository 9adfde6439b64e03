"""`mnemosyne migrate`: bring a database's schema up to date, or show which files are applied."""

import json

import click

from mnemosyne.adapters.database import migrations
from mnemosyne.app.container import connection_factory_for
from mnemosyne.app.migrate import migrate as bring_up_to_date
from mnemosyne.cli.open_services import owner_settings
from mnemosyne.cli.target import target
from mnemosyne.cli.terminal import say


@click.command()
@click.option("--status", is_flag=True, help="Show the migrations and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@target()
def migrate(status: bool, as_json: bool) -> None:
    """Apply the schema's migrations to the database that the settings name, as the role that owns the schema."""
    settings = owner_settings()
    if not status:
        bring_up_to_date(settings)
    connection = connection_factory_for(settings)()
    try:
        known = migrations.status(connection, migrations.bundled())
    finally:
        connection.close()
    if as_json:
        rows = [
            {"version": m.version, "name": m.name, "applied_at": m.applied_at and m.applied_at.isoformat()}
            for m in known
        ]
        say(json.dumps(rows))
        return
    for one in known:
        applied = f"applied {one.applied_at:%Y-%m-%d %H:%M}" if one.applied_at else "missing"
        say(f"{one.label:<38}  {applied}")
