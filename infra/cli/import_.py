"""`mnemosyne import`: bulk ingest of files, with a progress bar that counts outcomes and not intentions."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from infra.cli import destinations, formats, importer
from infra.cli.target import DEFAULT_NAMESPACE, target
from mnemosyne.errors import InvalidRequest


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--format", "format_", type=click.Choice(formats.FORMATS), help="[default: by the file's name]")
@click.option("--via", type=click.Choice(["mcp", "pubsub"]), default="pubsub", show_default=True, help="Way in.")
@click.option("--url", default="http://127.0.0.1:8080/mcp", show_default=True, help="The server, with --via mcp.")
@click.option("--namespace", default=DEFAULT_NAMESPACE, show_default=True, help="Whose memories, with --via pubsub.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
@click.option("--data-dir", metavar="DIR", help="Work on a local system in this directory, with --via pubsub.")
def import_(
    files: tuple[Path, ...],
    format_: str | None,
    via: str,
    url: str,
    namespace: str,
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Ingest memories from FILES and follow each to its outcome. Interrupted, it goes on where it was."""
    formats_of = {path: format_ or formats.guess(path) for path in files}
    counts = {path: _count(path, of) for path, of in formats_of.items()}  # all of them, before anything is sent
    totals: dict[str, int] = {"stored": 0, "duplicate": 0, "failed": 0}
    after, journals, last = importer.After(), [], importer.Summary()
    with _destination(via, url, namespace, data_dir) as destination:
        summaries = {}
        for path, of in formats_of.items():
            journals.append(importer.Journal(_beside(path), destination.name))
            summaries[path] = _import(path, of, counts[path], destination, journals[-1], after)
        after.apply(destination, last)
        summaries[files[-1]].failures += last.failures
        for journal in journals:
            journal.finish()
    for path, summary in summaries.items():
        _report(path, summary)
        for state, count in summary.states.items():
            totals[state] = totals.get(state, 0) + count
    if as_json:
        click.echo(json.dumps(totals))
    else:
        click.echo(", ".join(f"{count} {state}" for state, count in totals.items()) + ".")
    if any(summary.failures for summary in summaries.values()):
        sys.exit(1)


def _beside(path: Path) -> Path:
    """The path that files beside the source are named after."""
    return path.parent / path.name


def _import(
    path: Path,
    format_: str,
    total: int,
    destination: importer.Destination,
    journal: importer.Journal,
    after: importer.After,
) -> importer.Summary:
    if journal.resumed:
        click.echo(
            f"Going on where a run before was interrupted, after {journal.resumed} batches. To begin anew, delete "
            f"{journal.path}",
            err=True,
        )
    started = time.monotonic()
    with click.progressbar(
        length=total,
        label=path.name,
        show_pos=True,
        show_eta=True,
        item_show_func=lambda rate: rate or "",
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
    ) as bar:

        def progress(count: int) -> None:
            bar.update(count, f"{(bar.pos + count) / (time.monotonic() - started):.0f}/s")

        return importer.run(formats.read(path, format_), destination, journal, progress, after)


def _report(path: Path, summary: importer.Summary) -> None:
    """Write the failures beside the source, or take away those of a run before."""
    failures = Path(f"{_beside(path)}.failures.jsonl")
    if not summary.failures:
        failures.unlink(missing_ok=True)
        return
    failures.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in summary.failures))
    click.echo(f"{len(summary.failures)} failures with their causes: {failures}", err=True)


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
    with target(data_dir) as system:
        yield destinations.OverPubSub(system, namespace)
