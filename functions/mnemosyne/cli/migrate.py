"""`mnemosyne migrate`: apply pending migrations, or show which are applied."""

import json
from typing import Any

import click

from mnemosyne.app.operations.system import Migrate, ShowSchema
from mnemosyne.cli.options import JSON
from mnemosyne.cli.system import owners_system
from mnemosyne.cli.target import PROJECT, target
from mnemosyne.cli.terminal import say
from mnemosyne.cli.times import minute
from mnemosyne.errors import ServiceError


@click.command()
@click.option("--status", is_flag=True, help="Print the migrations; change nothing.")
@JSON
@target(PROJECT)
def migrate(status: bool, as_json: bool, **target_values: Any) -> None:
    """Apply pending migrations, and restore SQL functions and access rights, as the role that owns the schema."""
    with owners_system(**target_values) as system:
        if not status:
            applied = system.run(Migrate()).get("applied", [])
        try:
            files = system.run(ShowSchema())["files"]
        except ServiceError as exc:
            if status:
                raise
            say(f"The migrations are applied, but cannot be listed now: {exc}", err=True)
            if as_json:
                say(json.dumps({"applied": applied}))
            return
    if as_json:
        say(json.dumps([{name: value for name, value in file.items() if name != "label"} for file in files]))
        return
    for file in files:
        state = f"applied {minute(file['applied_at'])}" if file["applied_at"] else "missing"
        say(f"{file['label']:<38}  {state}")
