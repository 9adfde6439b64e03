"""`mnemosyne import`: bulk ingest of files, with a progress bar that counts outcomes and not intentions."""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from mnemosyne.domain.counted import counted
from mnemosyne.errors import InvalidRequest
from mnemosyne_cli import destinations, formats, importer
from mnemosyne_cli.journal import Journal
from mnemosyne_cli.open_services import DEFAULT_NAMESPACE, open_services
from mnemosyne_cli.private import private
from mnemosyne_cli.terminal import plain
from mnemosyne_cli.times import timezone_option
from mnemosyne_cli.tool_client import DEFAULT_URL

RATE_SECONDS = 5.0


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--format", "format_", type=click.Choice(formats.FORMATS), help="[default: by the file's name]")
@click.option("--via", type=click.Choice(["mcp", "pubsub"]), default="pubsub", show_default=True, help="Way in.")
@click.option("--url", default=DEFAULT_URL, show_default=True, help="The server, with --via mcp.")
@click.option("--namespace", default=DEFAULT_NAMESPACE, show_default=True, help="Whose memories, with --via pubsub.")
@timezone_option("UTC", help="Of dates and times without an offset; an IANA name.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
@click.option("--data-dir", metavar="DIR", help="Work on a local system in this directory, with --via pubsub.")
def import_(
    files: tuple[Path, ...],
    format_: str | None,
    via: str,
    url: str,
    namespace: str,
    timezone: str,
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Ingest memories from FILES and follow each to its outcome. Interrupted, it goes on where it was."""
    formats_of = {path: format_ or formats.guess(path) for path in files}
    counts = {path: _count(path, of) for path, of in formats_of.items()}  # all of them, before anything is sent
    totals: Counter[str] = Counter({"stored": 0, "duplicate": 0, "failed": 0})
    has_failures = False
    with _destination(via, url, namespace, data_dir) as destination:
        journals = {path: Journal(path.parent / path.name, destination.name) for path in formats_of}
        for path, of in formats_of.items():
            source = importer.Source.at(path, timezone)
            _import(path, source, of, counts[path], destination, journals[path])
        importer.apply_post_import_updates(list(journals.values()), destination)
        for path, journal in journals.items():
            totals.update(journal.totals().states)
            has_failures |= _report(path, journal)
            journal.finish()
    if as_json:
        click.echo(json.dumps(totals))
    else:
        click.echo(", ".join(f"{count} {state}" for state, count in totals.items()) + ".")
    if has_failures:
        sys.exit(1)


def _import(
    path: Path,
    source: importer.Source,
    format_: str,
    total: int,
    destination: importer.Destination,
    journal: Journal,
) -> None:
    if journal.resumed:
        click.echo(
            f"Going on where a run before was interrupted, after {counted(journal.resumed, 'batch', 'batches')}. "
            f"To import from the beginning, delete {journal.path}",
            err=True,
        )
    with click.progressbar(
        length=total,
        label=path.name,
        show_pos=True,
        show_eta=True,
        item_show_func=lambda rate: rate or "",
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
    ) as bar:
        last, since, rate = time.monotonic(), 0, ""

        def progress(count: int) -> None:
            nonlocal last, since, rate
            since += count
            now = time.monotonic()
            if since and (now - last >= RATE_SECONDS or not rate):
                rate, last, since = f"{since / max(now - last, 0.001):,.0f}/s", now, 0
            bar.update(count, rate)

        try:
            importer.run(formats.read(path, format_), source, destination, journal, progress)
        except BaseException:
            journal.close()
            raise


def _report(path: Path, journal: Journal) -> bool:
    """Write the failures next to the source, or delete an earlier run's; return whether there are any."""
    failures = Path(f"{path.parent / path.name}.failures.jsonl")
    count = 0
    with private(failures) as file:
        for source, error in journal.failures():
            file.write(json.dumps({"source": source, "error": error}, ensure_ascii=False) + "\n")
            count += 1
    if count:
        click.echo(f"{counted(count, 'failure')} with causes: {failures}", err=True)
    else:
        failures.unlink()
    left_out = journal.totals().left_out
    if left_out:
        named = ", ".join(
            f"{plain(name)} ({counted(count, 'memory', 'memories')})" for name, count in sorted(left_out.items())
        )
        click.echo(f"{path.name}: left out, because memories have no such fields: {named}", err=True)
    return count > 0


def _count(path: Path, format_: str) -> int:
    """How many memories there are to import; raises InvalidRequest where that many cannot be told, or are none."""
    if not path.is_file() and not path.is_dir():
        raise InvalidRequest(
            f"{path} is no file: import reads it twice and keeps a journal beside it, so write it to a file first"
        )
    try:
        total = sum(1 for _ in formats.read(path, format_))
    except (OSError, ValueError) as exc:
        raise InvalidRequest(f"{path} cannot be read as {format_}: {exc}") from exc
    if not total and (path.is_dir() or path.stat().st_size):
        raise InvalidRequest(f"{path} holds no memory, read as {format_}: is it another --format?")
    return total


@contextmanager
def _destination(via: str, url: str, namespace: str, data_dir: str | None) -> Iterator[importer.Destination]:
    if via == "mcp":
        yield destinations.OverMcp(url)
        return
    with open_services(data_dir, make=True) as services:
        yield destinations.OverPubSub(services, namespace)
