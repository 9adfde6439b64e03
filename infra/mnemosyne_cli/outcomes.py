"""`mnemosyne outcomes`: what became of what was published, as it happens or afterwards."""

import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from mnemosyne.domain.memory import IngestStatus, OutcomeCursor
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.ids import derived_id
from mnemosyne.services import ConfiguredServices
from mnemosyne_cli.durations import duration
from mnemosyne_cli.open_services import DEFAULT_NAMESPACE, open_services
from mnemosyne_cli.terminal import plain

PAGE = 1000
POLL_SECONDS = 0.5
COMMIT_DELAY = timedelta(seconds=15)
"""How long after its time an outcome may become visible: the time is noted just before its transaction ends."""
_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
Row = dict[str, Any]


@click.command()
@click.option("--since", callback=duration, metavar="AGE", help="Only what ended within 90m, 12h, 7d …")
@click.option("--source", metavar="SOURCE", help="Only what was published from this source.")
@click.option(
    "--keys",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with a key of SOURCE a line: say what became of each, in that order.",
)
@click.option("--follow", is_flag=True, help="Go on as outcomes come, until Ctrl-C.")
@click.option("--namespace", default=DEFAULT_NAMESPACE, show_default=True, help="Whose memories.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@click.option("--data-dir", metavar="DIR", help="Work on a local system in this directory.")
def outcomes(
    since: timedelta | None,
    source: str | None,
    keys: Path | None,
    follow: bool,
    namespace: str,
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Tell the final outcome of each request: stored, duplicate, failed or dead_lettered, and why.

    Messages of which something has no request end as dead_lettered under their message id.
    """
    if keys and (follow or not source):
        raise click.UsageError("--keys needs --source, and is asked once: not with --follow")
    counts: Counter[str] = Counter()
    with open_services(data_dir) as services:
        start = OutcomeCursor(updated_at=datetime.now(UTC) - since if since else _BEGINNING)
        if keys:
            rows = _of_keys(services, namespace, source or "", keys)
        else:
            rows = (
                _following(services, namespace, source, start) if follow else _ended(services, namespace, source, start)
            )
        try:
            for row in rows:
                counts[row["state"]] += 1
                click.echo(json.dumps(row) if as_json else plain(_line(row)))
                if follow:
                    sys.stdout.flush()
        except KeyboardInterrupt:
            pass
        finally:
            total = ", ".join(f"{count:,} {state}" for state, count in sorted(counts.items()))
            click.echo(f"{counts.total():,} outcomes{': ' if total else ''}{total}.", err=True)


def _line(row: Row) -> str:
    name = f"{row['source']} {row['key']}" if row["source"] else row["request_id"] or f"message {row['message_id']}"
    return "  ".join(filter(None, [row["updated_at"], f"{row['state']:13}", name, row["memory_id"], row["error"]]))


def _ended(services: ConfiguredServices, namespace: str, source: str | None, after: OutcomeCursor) -> Iterator[Row]:
    """Every outcome so far, in the order they came; then messages without a request."""
    start = after.updated_at
    while page := services.memories.outcomes(namespace, PAGE, after=after, source=source):
        yield from map(_row, page)
        after = replace(after, updated_at=page[-1].updated_at or start, request_id=page[-1].request_id)
    yield from _lost(services, namespace, source, start)


def _lost(services: ConfiguredServices, namespace: str, source: str | None, start: datetime) -> Iterator[Row]:
    for dead_letter in services.memories.lost_dead_letters(namespace, start):
        if source in (None, dead_letter.attributes.get("source")):
            yield {
                "updated_at": rfc3339(dead_letter.dead_lettered_at),
                "state": "dead_lettered",
                "request_id": None,
                "message_id": dead_letter.message_id,
                "memory_id": None,
                "source": dead_letter.attributes.get("source"),
                "key": dead_letter.attributes.get("key"),
                "error": dead_letter.cause,
            }


def _following(services: ConfiguredServices, namespace: str, source: str | None, after: OutcomeCursor) -> Iterator[Row]:
    """Every outcome, each once, as it becomes visible: the last seconds are looked at again and again."""
    never = threading.Event()
    seen: dict[tuple[str | None, str | None, str], str] = {}
    while True:
        for row in _ended(services, namespace, source, after):
            name = row["request_id"], row["message_id"], row["state"]
            if name not in seen:
                seen[name] = row["updated_at"]
                yield row
        fixed = datetime.now(UTC) - COMMIT_DELAY
        if fixed > after.updated_at:
            after = OutcomeCursor(updated_at=fixed)
            seen = {name: at for name, at in seen.items() if at >= str(rfc3339(fixed))[:19]}
        never.wait(POLL_SECONDS)


def _of_keys(services: ConfiguredServices, namespace: str, source: str, keys: Path) -> Iterator[Row]:
    """Yield what became of each key, in the file's order; `unknown` where nothing has arrived under it."""
    with keys.open() as file:
        names = [line.rstrip("\r\n") for line in file]
    for start in range(0, len(names), PAGE):
        chunk = names[start : start + PAGE]
        ids = {name: derived_id(source, name) for name in chunk}
        known = services.memories.statuses(namespace, list(ids.values()))
        for name in chunk:
            status = known.get(ids[name])
            unknown = {"state": "unknown", "request_id": str(ids[name]), "message_id": None, "memory_id": None}
            row = _row(status) if status else {"updated_at": None, **unknown, "error": None}
            yield {**row, "source": source, "key": name}


def _row(status: IngestStatus) -> Row:
    return {
        "updated_at": rfc3339(status.updated_at),
        "state": status.state.value,
        "request_id": str(status.request_id),
        "message_id": None,
        "memory_id": str(status.memory_id) if status.memory_id else None,
        "source": status.origin.source if status.origin else None,
        "key": status.origin.key if status.origin else None,
        "error": status.error,
    }
