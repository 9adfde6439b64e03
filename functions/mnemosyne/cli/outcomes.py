"""`mnemosyne outcomes`: print the outcomes of published memories, also as they are committed."""

import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mnemosyne.cli.open_services import DEFAULT_NAMESPACE
from mnemosyne.cli.system import System, memory_system, slices
from mnemosyne.cli.target import DATA_DIR, PROJECT, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.cli.times import age, machine_zone, timezone_option
from mnemosyne.domain.parsing import parse
from mnemosyne.domain.plurals import counted
from mnemosyne.service.operations.outcomes import CountWaiting, ListOutcomes, ListOutcomesOfKeys, Position

POLL_SECONDS = 0.5
Row = dict[str, Any]


@click.command()
@click.option(
    "--since",
    metavar="TIME",
    help="Only outcomes of this age or since this time: 90m, 12h, 7d, yesterday or 2026-05-20.",
)
@timezone_option(machine_zone, help="Time zone of --since; an IANA name.")
@click.option("--source", metavar="SOURCE", help="Only records of this source.")
@click.option(
    "--keys",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with one key of SOURCE per line: print the latest outcome of each key, in the file's order.",
)
@click.option("--follow", is_flag=True, help="Print further outcomes until Ctrl-C.")
@click.option("--namespace", default=DEFAULT_NAMESPACE, show_default=True, help="Outcomes of this namespace.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@target(DATA_DIR, PROJECT)
def outcomes(
    since: str | None,
    timezone: str,
    source: str | None,
    keys: Path | None,
    follow: bool,
    namespace: str,
    as_json: bool,
    **place: Any,
) -> None:
    """Print the outcome of each request: stored, duplicate, deleted, failed or dead_lettered, with its cause.

    Outcomes are in the order of the transactions that set them. With --follow, each is shown as soon as it is
    committed. All times are in UTC by the database's clock.

    A message that cannot be read is shown as dead_lettered under its message id, because it has no request.
    """
    if keys and (follow or since is not None or not source):
        raise click.UsageError("--keys needs --source, and excludes --follow and --since")
    begin = None if since is None else age(since, timezone)
    counts: Counter[str] = Counter()
    with memory_system(**place, delivers=follow) as system:
        if keys:
            rows = _of_keys(system, namespace, source or "", keys)
        else:
            position = Position(since=None if begin is None else begin.total_seconds())
            rows = outcome_rows(system, ListOutcomes(namespace=namespace, source=source, after=position), follow=follow)
        try:
            for row in rows:
                counts[row["state"]] += 1
                say(json.dumps(row) if as_json else plain(_line(row)))
                if follow:
                    sys.stdout.flush()
        except KeyboardInterrupt:
            pass
        finally:
            total = ", ".join(f"{count:,} {state}" for state, count in sorted(counts.items()))
            say(f"{counted(counts.total(), 'outcome')}{': ' if total else ''}{total}.", err=True)
        if not keys and not source:
            _note_waiting(system, namespace)


def _note_waiting(system: System, namespace: str) -> None:
    """Print to stderr how many requests wait for another attempt, and the last error."""
    answer = system.run(CountWaiting(namespace=namespace))
    if answer["waiting"] and answer["error"]:
        verb = "was" if answer["waiting"] == 1 else "were"
        say(
            f"{counted(answer['waiting'], 'request')} {verb} attempted and will be delivered again. The last attempt "
            f"failed: {plain(answer['error'])}",
            err=True,
        )


def _line(row: Row) -> str:
    name = f"{row['source']} {row['key']}" if row["source"] else row["request_id"] or f"message {row['message_id']}"
    parts = [row["updated_at"], f"{row['state']:13}", name, row["memory_id"], row["error"], row["note"]]
    return "  ".join(filter(None, parts))


def outcome_rows(system: System, operation: ListOutcomes, *, follow: bool) -> Iterator[Row]:
    """Yield the outcomes of requests and of unreadable messages; with `follow`, also later ones without end."""
    never = threading.Event()
    while True:
        page = system.run(operation)
        yield from page["outcomes"]
        operation = operation.model_copy(update={"after": parse(Position, page["after"])})
        if page["is_last"]:
            if not follow:
                return
            never.wait(POLL_SECONDS)


def _of_keys(system: System, namespace: str, source: str, keys: Path) -> Iterator[Row]:
    """Yield the outcome of each key's latest change, in the file's order, or `unknown` for a key without outcome."""
    with keys.open(encoding="utf-8") as file:
        names = [line.rstrip("\r\n") for line in file]
    for some in slices(names):
        yield from system.run(ListOutcomesOfKeys(namespace=namespace, source=source, keys=some))["outcomes"]
