"""`mnemosyne doctor`: check every part of a system, and print what is wrong and how to fix it."""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from mnemosyne.app import doctor as examination
from mnemosyne.app.operations.system import Examine
from mnemosyne.cli.open_services import open_services, settings_of_a_system
from mnemosyne.cli.options import JSON
from mnemosyne.cli.system import memory_system
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import say
from mnemosyne.domain.health import Check
from mnemosyne.errors import Misconfigured, ServiceError


@click.command()
@JSON
@target(DATA_DIR, PROJECT)
def doctor(as_json: bool, **target_values: Any) -> None:
    """Check settings, database, schema, embedding space, role, languages, topic, embedder, reranker, authentication."""
    checks = []
    for check in _run_checks(target_values):
        checks.append(check)
        if not as_json:
            say(f"{_result_word(check):5}  {check.name:16}  {check.seen}")
            if check.remedy:
                say(f"{'':23}  → {check.remedy}")
    if as_json:
        values = [
            {
                "name": check.name,
                "ok": check.ok,
                "warning": check.is_warning,
                "seen": check.seen,
                "remedy": check.remedy,
            }
            for check in checks
        ]
        say(json.dumps(values))
    failures = sum(not check.ok for check in checks)
    if failures:
        sys.exit(1)
    if not as_json:
        say("All works, with warnings." if any(check.is_warning for check in checks) else "All is well.")


def _result_word(check: Check) -> str:
    if check.is_warning:
        return "warn"
    return "ok" if check.ok else "WRONG"


def _run_checks(target_values: Mapping[str, Any]) -> Iterator[Check]:
    try:
        if target_values["project"] is not None:
            with memory_system(**target_values, delivers=False) as system:
                for check in system.run(Examine())["checks"]:
                    del check["ok"]
                    yield Check(**check)
            return
        with open_services(target_values["data_dir"], delivers=False) as services:
            # Yield each check as soon as it has ended, so that its result is printed before the next check begins.
            yield examination.check_settings()
            yield from examination.examine(services)
    except ServiceError as exc:
        if target_values["project"] is not None:
            raise
        if settings_of_a_system() and target_values["data_dir"] is None:
            yield Check("settings", str(exc), "change the setting as described; docs/settings.md lists all variables")
        else:  # the command works on a local system, which needs no settings
            otherwise = "do what the message says" if isinstance(exc, Misconfigured) else "run the command again"
            yield examination.failed_check("local system", exc, otherwise)
