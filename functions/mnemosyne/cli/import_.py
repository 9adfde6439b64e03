"""`mnemosyne import`: ingest the memories in files. A progress bar counts the memories whose outcome is known."""

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import click

from mnemosyne.cli import destinations, formats, importer, post_import_updates
from mnemosyne.cli.import_source import Source
from mnemosyne.cli.journal import Journal, other_journals
from mnemosyne.cli.listing import SHOWN_PATHS, Listing, check_notes, list_files
from mnemosyne.cli.open_services import DEFAULT_NAMESPACE, open_services, settings_of_a_system
from mnemosyne.cli.options import check_name, check_source
from mnemosyne.cli.private import FailuresFile
from mnemosyne.cli.restore import restore_files
from mnemosyne.cli.target import DATA_DIR, URL, target, tools_address
from mnemosyne.cli.terminal import INTERRUPTIONS, explained, plain, say
from mnemosyne.cli.times import timezone_option
from mnemosyne.domain.plurals import quantity
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats.item import FAILURE
from mnemosyne.formats.reading import note_path
from mnemosyne.service.seen_requests import SeenRequests

INTERRUPTED = "memories that were already sent may be stored. Run the same command again to continue the import."
RATE_SECONDS = 5.0
NOTICES = 20
"""Maximum number of lines that are printed about properties of notes that were left out."""


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--format", "format_", type=click.Choice(formats.FORMATS), help="[default: by the file's name]")
@target(URL, DATA_DIR)
@click.option("--namespace", callback=check_name, help="Namespace of the memories, without --url.  [default: default]")
@click.option(
    "--via",
    type=click.Choice(["mcp", "pubsub"]),
    help="Through tools or the topic.  [default: mcp with --url, else pubsub]",
)
@click.option(
    "--source", metavar="NAME", callback=check_source, help="Name for the source of the notes.  [default: their folder]"
)
@click.option(
    "--restore", is_flag=True, help="Restore exports exactly: ids, times, ratings, versions, keys and outcomes."
)
@timezone_option("UTC", help="Time zone of dates and times without an offset; an IANA name.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def import_(
    files: tuple[Path, ...],
    format_: str | None,
    url: str | None,
    data_dir: str | None,
    namespace: str | None,
    via: str | None,
    source: str | None,
    restore: bool,
    timezone: str,
    as_json: bool,
) -> None:
    """Ingest memories from FILES, and wait for their outcomes. Repeat the command to continue an interrupted import."""
    files = _distinct_files(files)
    if restore:
        if url or via or source or format_ not in (None, "jsonl"):
            raise click.UsageError("--restore excludes --url, --via, --source and other formats than jsonl")
        restore_files(files, namespace or DEFAULT_NAMESPACE, data_dir, as_json=as_json)
        return
    listings = {path: _list_files(path, format_) for path in files}
    if source:
        check_notes(listings.values())
    # Count the memories before any memory is sent, because the count also checks that all files can be read.
    total = sum(_count_memories(listing) for listing in listings.values())
    sources = {path: Source.at(path, timezone, source) for path in files}
    for path in files:
        FailuresFile(path).check()
    totals: Counter[str] = Counter({"stored": 0, "duplicate": 0, "failed": 0})
    has_failures = False
    with _destination(via, url, namespace, data_dir) as destination:
        journals = {path: Journal(path, destination.name) for path in listings}
        with explained(INTERRUPTED, INTERRUPTIONS):
            _import(listings, sources, total, destination, journals)
            post_import_updates.apply(list(journals.values()), destination)
        for path, journal in journals.items():
            totals.update(journal.totals().states)
            has_failures |= _report(path, journal, listings[path])
            journal.finish()
    if as_json:
        say(json.dumps(totals))
    else:
        say(", ".join(f"{count} {state}" for state, count in totals.items()) + ".")
    if has_failures:
        sys.exit(1)


def _distinct_files(files: Sequence[Path]) -> tuple[Path, ...]:
    """Return each file once, because two imports of one file would use the same journal.

    If the user gave several paths of one file, the first of these paths is returned.
    """
    distinct: dict[Path, Path] = {}
    for path in files:  # resolve `.` and `..`, because the journal has the folder's name and is next to the folder
        distinct.setdefault(path.resolve(), path if path.name.strip(".") else path.resolve())
    return tuple(distinct.values())


def _import(
    listings: Mapping[Path, Listing],
    sources: Mapping[Path, Source],
    total: int,
    destination: importer.Destination,
    journals: Mapping[Path, Journal],
) -> None:
    if resumed := [journal for journal in journals.values() if journal.resumed]:
        number = quantity(sum(journal.resumed for journal in resumed), "batch", "batches")
        others = f", and {quantity(len(resumed) - 1, 'other journal')}" if len(resumed) > 1 else ""
        beginning = f"To import from the beginning, delete {plain(resumed[0].path)}{others}"
        say(f"Continuing an interrupted import after {number}. {beginning}", err=True)
    for other in other_journals([*journals.values()])[:SHOWN_PATHS]:
        say(
            f"{plain(other)} is of an import into another system or with another key, which this import does not "
            "continue. If that import is neither running nor to be continued, delete this file",
            err=True,
        )
    label = plain(next(iter(listings)).name) if len(listings) == 1 else f"{len(listings):,} files and folders"
    with click.progressbar(
        length=total,
        label=label,
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

        under_way, index = importer.UnderWay(destination), SeenRequests()
        for path, listing in listings.items():
            with closing(journals[path]) as journal:
                importer.send(formats.read_files(listing), sources[path], under_way, journal, progress, index)
        under_way.wait(progress)


def _report(path: Path, journal: Journal, listing: Listing) -> bool:
    """Write the failed records to a file (FailuresFile), print its path, and return whether any record has failed.

    If no record has failed, delete the failures file of an earlier run. Also print notices about memories, fields and
    files that were left out.
    """
    failures = FailuresFile(path)
    count = failures.write(
        json.loads(record) | {FAILURE: {"place": source, "error": error}}
        for source, error, record in journal.failures()
    )
    if count:
        say(f"{quantity(count, 'failure')} with causes: {plain(failures.path)}", err=True)
        say(f"Correct the records in {plain(failures.path)} or in {plain(path)}, and import again.", err=True)
    totals = journal.totals()
    if kept_out := totals.states[importer.NOT_STORED]:
        number = f"{plain(path.name)}: {quantity(kept_out, 'memory', 'memories')} not stored"
        say(f"{number}: each was deleted or has expired; to store it, give a later timestamp and expires_at", err=True)
    if totals.unchanged:
        number = quantity(totals.unchanged, "memory exists", "memories exist")
        say(
            f"{plain(path.name)}: {number} already with other labels (title, tags, metadata or times), and the labels "
            "in the file were not stored: change labels with update_memory, or give a record with source and key a "
            "later timestamp",
            err=True,
        )
    _print_notices(listing, totals.left_out)
    for notice in listing.notices():
        say(f"{plain(path.name)}: {notice}", err=True)
    return count > 0


def _print_notices(listing: Listing, left_out: Mapping[str, int]) -> None:
    """Print which fields and which properties of notes an import has left out.

    `left_out` has the number of memories for two kinds of texts: the names of unknown fields, and notices about
    properties of notes (Markdown files) that could not be read.
    """
    path, notes = listing.root, {note_path(listing.relative_path(file)) for file, _ in listing.files}

    def is_notice(text: str) -> bool:  # a notice begins with the path of a note, then `, ` or ` (`
        return any(text[: match.start()] in notes for match in re.finditer(r", | \(", text))

    names = {name: count for name, count in left_out.items() if not is_notice(name)}
    if names:
        fields = [f"{plain(name)} ({quantity(count, 'memory', 'memories')})" for name, count in sorted(names.items())]
        say(f"{plain(path.name)}: left out, because memories have no such fields: {', '.join(fields)}", err=True)
    notices = sorted(set(left_out) - set(names))
    for notice in notices[:NOTICES]:
        say(f"{plain(path.name)}: {plain(notice)}", err=True)
    if len(notices) > NOTICES:
        say(f"{plain(path.name)}: and {len(notices) - NOTICES:,} more", err=True)


def _list_files(path: Path, format_: str | None) -> Listing:
    if not path.is_file() and not path.is_dir():
        raise InvalidRequest(
            f"{path} is not a regular file: import reads it twice and keeps a journal next to it; "
            "copy it to a file first"
        )
    try:
        return list_files(path, format_)
    except OSError as exc:
        raise InvalidRequest(f"{path} cannot be read: {exc}") from exc


def _count_memories(listing: Listing) -> int:
    """Read all files, and return the number of memories to import.

    Raises InvalidRequest if there is no memory, or if a file cannot be read.
    """
    path = listing.root
    try:
        total = sum(1 for _ in formats.read_files(listing))
    except (OSError, ValueError) as exc:
        raise InvalidRequest(f"{path} cannot be read as {listing.files[0][1]}: {exc}") from exc
    if total or not (listing.is_folder or path.stat().st_size):
        return total
    if not listing.is_folder:
        without = f"{path} has no memory in the format {listing.files[0][1]}"
        raise InvalidRequest(f"{without}: if it has another format, name it with --format")
    reasons = "".join(f"\n  {notice}" for notice in listing.notices())
    raise InvalidRequest(f"{path} has no file that can be imported, such as .md, .txt, .jsonl or .json{reasons}")


@contextmanager
def _destination(
    via: str | None, url: str | None, namespace: str | None, data_dir: str | None
) -> Iterator[importer.Destination]:
    """Yield the system to import into. A missing local system is created only if `data_dir` names its directory."""
    if url and via == "pubsub":
        raise click.UsageError("--url excludes --via pubsub: an import into a server uses its tools")
    if via == "mcp" and not (url or data_dir) and settings_of_a_system():
        raise click.UsageError("--via mcp does not work with a deployment's settings in the environment: use --url URL")
    if url or via == "mcp":
        if namespace is not None:
            raise click.UsageError("--namespace excludes --url and --via mcp: the key chooses the namespace")
        with tools_address(url, data_dir, stores=True) as address:
            yield destinations.McpDestination(address, url or f"tools of {data_dir and Path(data_dir).resolve()}")
        return
    with open_services(data_dir, create=True) as services:
        yield destinations.PubSubDestination(services, namespace or DEFAULT_NAMESPACE)
