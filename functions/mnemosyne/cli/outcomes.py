"""`mnemosyne outcomes`: print the outcomes of published memories, also as they are committed."""

import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mnemosyne.cli.open_services import DEFAULT_NAMESPACE, open_services
from mnemosyne.cli.target import DATA_DIR, target
from mnemosyne.cli.terminal import plain, say
from mnemosyne.cli.times import age, machine_zone, timezone_option
from mnemosyne.domain.memory import DeadLetter, IngestState, IngestStatus
from mnemosyne.domain.outcome import OutcomeCursor
from mnemosyne.domain.plurals import counted
from mnemosyne.domain.pubsub_message import Published, unwrap
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.ports.memories import MemoryStore

PAGE = 1000
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
@target(DATA_DIR)
def outcomes(
    since: str | None,
    timezone: str,
    source: str | None,
    keys: Path | None,
    follow: bool,
    namespace: str,
    as_json: bool,
    data_dir: str | None,
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
    with open_services(data_dir) as services:
        memories = services.memories_of(namespace)
        if keys:
            rows = _of_keys(memories, source or "", keys)
        else:
            rows = outcome_rows(memories, source, OutcomeCursor(since=begin), follow=follow)
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
            _note_waiting(memories)


def _note_waiting(memories: MemoryStore) -> None:
    """Print to stderr how many requests wait for another attempt, and the last error."""
    waiting = memories.stats().pending
    last = memories.ingest_requests(IngestState.QUEUED, 1)
    if waiting and last and last[0].error:
        verb = "was" if waiting == 1 else "were"
        say(
            f"{counted(waiting, 'request')} {verb} attempted and will be delivered again. The last attempt failed: "
            f"{plain(last[0].error)}",
            err=True,
        )


def _line(row: Row) -> str:
    name = f"{row['source']} {row['key']}" if row["source"] else row["request_id"] or f"message {row['message_id']}"
    parts = [row["updated_at"], f"{row['state']:13}", name, row["memory_id"], row["error"], row["note"]]
    return "  ".join(filter(None, parts))


def outcome_rows(memories: MemoryStore, source: str | None, after: OutcomeCursor, *, follow: bool) -> Iterator[Row]:
    """Yield the outcomes of requests and of unreadable messages; with `follow`, also later ones without end."""
    never = threading.Event()
    while True:
        page = memories.outcomes(PAGE, after=after, source=source)
        yield from map(_row, page.outcomes)
        unread = (_unreadable(letter, memories, source) for letter in page.lost)
        yield from (row for row in unread if source in (None, row["source"]))
        after = page.after
        if page.is_last:
            if not follow:
                return
            never.wait(POLL_SECONDS)


def _unreadable(dead_letter: DeadLetter, memories: MemoryStore, source: str | None) -> Row:
    """Return the row of an unreadable message. Its data is read only to find a source that the attributes lack."""
    whole = None
    if source is not None and "source" not in dead_letter.attributes:
        whole = memories.dead_letter(dead_letter.message_id)
    data = whole.data if whole else b""
    name = unwrap(Published(message_id=dead_letter.message_id, data=data, attributes=dead_letter.attributes))
    return {
        "updated_at": rfc3339(dead_letter.dead_lettered_at),
        "state": "dead_lettered",
        "request_id": None,
        "message_id": dead_letter.message_id,
        "memory_id": None,
        "source": name.source or None,
        "key": name.key or None,
        "error": dead_letter.cause,
        "note": None,
    }


def _of_keys(memories: MemoryStore, source: str, keys: Path) -> Iterator[Row]:
    """Yield the outcome of each key's latest change, in the file's order, or `unknown` for a key without outcome."""
    with keys.open(encoding="utf-8") as file:
        names = [line.rstrip("\r\n") for line in file]
    for start in range(0, len(names), PAGE):
        chunk = names[start : start + PAGE]
        statuses = memories.outcomes_of_keys(source, chunk)
        for name in chunk:
            status = statuses.get(name)
            unknown = {"state": "unknown", "request_id": None, "message_id": None, "memory_id": None}
            row = _row(status) if status else {"updated_at": None, **unknown, "error": None, "note": None}
            yield {**row, "source": source, "key": name}


def _row(status: IngestStatus) -> Row:
    return {
        "updated_at": rfc3339(status.updated_at),
        "state": status.state.value,
        "request_id": str(status.request_id),
        "message_id": None,
        "memory_id": str(status.memory_id) if status.memory_id else None,
        "source": status.external_id.source if status.external_id else None,
        "key": status.external_id.key if status.external_id else None,
        "error": status.error,
        "note": status.note,
    }
