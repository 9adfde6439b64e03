"""`mnemosyne outcomes`: print the outcomes of ingest requests, once or continuously."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from mnemosyne.app.operations.outcomes import CountWaiting, ListOutcomes, ListOutcomesOfKeys
from mnemosyne.cli.following import Row, following_options, listing_pages, print_rows, seconds_since
from mnemosyne.cli.options import check_source
from mnemosyne.cli.system import System, memory_system, slices
from mnemosyne.cli.terminal import plain, say
from mnemosyne.domain.outcome import OutcomeCursor
from mnemosyne.domain.plurals import quantity
from mnemosyne.formats.decoding import read_unicode


@click.command()
@click.option("--source", metavar="SOURCE", callback=check_source, help="Only records of this source.")
@click.option(
    "--keys",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with one key of SOURCE per line: print the latest outcome of each key, in the file's order.",
)
@following_options("outcomes")
def outcomes(
    since: str | None,
    timezone: str,
    source: str | None,
    keys: Path | None,
    follow: bool,
    namespace: str,
    as_json: bool,
    **target_values: Any,
) -> None:
    """Print the outcome of each request: stored, duplicate, deleted, failed or dead_lettered, with its cause.

    The outcomes are printed in the order of the database transactions that recorded them. With --follow, an outcome is
    printed as soon as it is committed. All times are in UTC by the database's clock.

    A message that cannot be read is shown as dead_lettered under its message id, because it has no request.
    """
    if keys and (follow or since is not None or not source):
        raise click.UsageError("--keys needs --source, and excludes --follow and --since")
    names = read_keys(keys) if keys else []
    position = OutcomeCursor(since=seconds_since(since, timezone))
    listing = ListOutcomes(namespace=namespace, source=source, after=position)
    with memory_system(**target_values, delivers=follow) as system:
        rows = (
            _outcomes_of_keys(system, namespace, source or "", names)
            if keys
            else outcome_rows(system, listing, follow=follow)
        )
        print_rows(rows, _format_outcome, counted_by="state", noun="outcome", as_json=as_json, follow=follow)
        if not keys and not source:
            _print_waiting(system, namespace)


def _print_waiting(system: System, namespace: str) -> None:
    """Print to stderr how many requests wait for another attempt, and the last error."""
    answer = system.run(CountWaiting(namespace=namespace))
    if answer["waiting"] and answer["error"]:
        verb = "was" if answer["waiting"] == 1 else "were"
        say(
            f"{quantity(answer['waiting'], 'request')} {verb} attempted and will be delivered again. The last attempt "
            f"failed: {plain(answer['error'])}",
            err=True,
        )


def _format_outcome(row: Row) -> str:
    name = f"{row['source']} {row['key']}" if row["source"] else row["request_id"] or f"message {row['message_id']}"
    parts = [row["updated_at"], f"{row['state']:13}", name, row["memory_id"], row["error"], row["note"]]
    return "  ".join(filter(None, parts))


def outcome_rows(system: System, operation: ListOutcomes, *, follow: bool) -> Iterator[Row]:
    """Yield the outcomes of requests and of unreadable messages.

    With `follow`, continue with later outcomes without end.
    """
    for page in listing_pages(system, operation, follow=follow):
        yield from page["outcomes"]


def read_keys(path: Path) -> list[str]:
    """Read the keys of records from a text file that has one key per line. Empty lines are skipped.

    Raises InvalidRequest if the text is not UTF-8 or UTF-16.
    """
    with path.open("rb") as file:
        text = read_unicode(file, path)
    return [key for line in text.split("\n") if (key := line.rstrip("\r"))]


def _outcomes_of_keys(system: System, namespace: str, source: str, keys: Sequence[str]) -> Iterator[Row]:
    """For each record key in `keys`, yield the latest outcome of its record; `unknown` if there is no outcome."""
    for batch in slices(keys):
        yield from system.run(ListOutcomesOfKeys(namespace=namespace, source=source, keys=batch))["outcomes"]
