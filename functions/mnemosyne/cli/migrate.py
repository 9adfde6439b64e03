"""`mnemosyne migrate`: apply pending migrations, or show which are applied."""

import json

import click

from mnemosyne.adapters.database import migrations
from mnemosyne.app.container import connection_factory_for
from mnemosyne.app.migrate import migrate as apply_migrations
from mnemosyne.cli.open_services import owner_settings
from mnemosyne.cli.target import target
from mnemosyne.cli.terminal import say


@click.command()
@click.option("--status", is_flag=True, help="Print the migrations; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@target()
def migrate(status: bool, as_json: bool) -> None:
    """Apply pending migrations to the database that the settings name, as the role that owns the schema."""
    settings = owner_settings()
    if not status:
        apply_migrations(settings)
    connection = connection_factory_for(settings)()
    try:
        files = migrations.status(connection, migrations.bundled())
    finally:
        connection.close()
    if as_json:
        rows = [
            {"version": m.version, "name": m.name, "applied_at": m.applied_at and m.applied_at.isoformat()}
            for m in files
        ]
        say(json.dumps(rows))
        return
    for file in files:
        applied = f"applied {file.applied_at:%Y-%m-%d %H:%M}" if file.applied_at else "missing"
        say(f"{file.label:<38}  {applied}")
