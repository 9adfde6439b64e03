"""`mnemosyne export`: write a namespace's memories to files that `mnemosyne import` reads."""

import io
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TextIO

import click

from mnemosyne.app.operations.export import Beginning, ExportMemories, ExportRecords, ExportRequests
from mnemosyne.cli.options import FilledPath, namespace_option
from mnemosyne.cli.private import private, replacement
from mnemosyne.cli.system import System, memory_system, pages
from mnemosyne.cli.target import DATA_DIR, PROJECT, target, target_arguments
from mnemosyne.cli.terminal import INTERRUPTIONS, explained, lines_of, plain, say
from mnemosyne.domain.plurals import quantity
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats.writing import to_jsonl, to_markdown

Record = dict[str, Any]


@click.command()
@click.option("--format", "format_", type=click.Choice(["jsonl", "markdown"]), default="jsonl", show_default=True)
@click.option("--output", type=FilledPath(), help="File (jsonl) or directory (markdown) [default: -].")
@namespace_option(help="The namespace to export.")
@target(DATA_DIR, PROJECT)
def export(format_: str, output: Path | None, namespace: str, **target_values: Any) -> None:
    """Write all memories of a namespace, oldest first, with their versions and ratings.

    A JSONL file also has the outcomes of requests and the records (the source and key by which a publisher names a
    memory). `mnemosyne import --restore` restores all of this. Markdown files have only the memories, and are written
    to a new or empty directory.
    """
    if format_ == "markdown" and output is None:
        raise click.UsageError("markdown needs --output DIR: one file per memory")
    if output is not None:
        _check_output(format_, output)
    is_replaced = output is not None and (output.is_file() or output.is_dir() or not output.exists())
    incomplete = f"nothing was written to {output}" if is_replaced else "the output is incomplete"
    try:
        with explained(f"{incomplete}. Run the same command again.", INTERRUPTIONS):
            count = _export(format_, output, namespace, target_values)
    except OSError as exc:
        raise InvalidRequest(f"{output or 'the output'} cannot be written: {exc.strerror or exc}") from exc
    summary = f"{quantity(count, 'memory', 'memories')} of the namespace {plain(namespace)} exported."
    how_to_list = f"`mnemosyne quota list{target_arguments(target_values)}`"
    say(f"{summary} Other namespaces are not exported: {how_to_list} shows them.", err=True)


def _export(format_: str, output: Path | None, namespace: str, target_values: Mapping[str, Any]) -> int:
    count = 0
    if format_ == "markdown" and output is not None:
        _require_empty(output)
    with memory_system(**target_values, delivers=False) as system:
        if format_ == "markdown" and output is not None:
            with _complete_or_empty(output) as part:
                for record in _records(system, namespace):
                    name, text = to_markdown(record)
                    with private(part / name, follow=False) as file:
                        file.write(text)
                    count += 1
        else:
            with _open_output(output) if output else nullcontext(_standard_output()) as stream:
                count = _write_all(stream, system, namespace)
                stream.flush()
    return count


def _write_all(stream: TextIO, system: System, namespace: str) -> int:
    """Write a complete export, and return its number of memories.

    If the namespace changed during the export, print a warning.
    """
    count, page = 0, {}
    began: Beginning | None = None
    for page in pages(system, ExportMemories(namespace=namespace)):
        if "began" in page:
            began = Beginning(**page["began"])
        for record in page["memories"]:
            _write(stream, record)
            count += 1
    for operation in (ExportRequests(namespace=namespace), ExportRecords(namespace=namespace, began=began)):
        for page in pages(system, operation):
            for line in page["lines"]:
                _write(stream, line)
    if page.get("changed"):
        say(
            f"Warning: the namespace {plain(namespace)} changed while it was exported, so a restore can bring back "
            "deleted memories and lack new ones. For a restore, export again while nothing is stored or deleted.",
            err=True,
        )
    return count


def _check_output(format_: str, output: Path) -> None:
    """Raise UsageError if the output of an export cannot be a file (jsonl) or a directory (markdown)."""
    if format_ == "markdown":
        if output.exists() and not output.is_dir():
            raise click.UsageError(f"--output must be a directory with --format markdown, got the file {output}")
        return
    if output.is_dir():
        raise click.UsageError(
            f"--output must be a file, got the directory {output}: add a file name, or --format markdown"
        )
    directory = output.resolve().parent if output.is_symlink() else output.parent
    if not directory.is_dir():
        raise click.UsageError(f"--output must be in an existing directory, got {output}: create {directory} first")


def _require_empty(directory: Path) -> None:
    """Raise InvalidRequest if a directory has files that an import would read together with the new export.

    Hidden files, such as .git, are allowed, because an import skips them.
    """
    if directory.is_dir() and any(not file.name.startswith(".") for file in directory.iterdir()):
        raise InvalidRequest(
            f"{directory} must be empty or new: an import of the directory would also store memories in other files, "
            "such as memories that were deleted since an earlier export; name another directory, or empty this one"
        )


@contextmanager
def _complete_or_empty(directory: Path) -> Iterator[Path]:
    """Yield a hidden directory in `directory`. At the end of the `with` block, move its files to `directory`.

    So if the export fails, `directory` stays empty, and no incomplete export looks like a complete one. If the command
    is killed, the hidden directory stays, but an import skips it.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = directory / f".{secrets.token_hex(8)}.export"
    part.mkdir(mode=0o700)
    try:
        yield part
        for file in part.iterdir():
            file.rename(directory / file.name)
    finally:
        shutil.rmtree(part)


def _open_output(output: Path) -> AbstractContextManager[TextIO]:
    """Open the output. A regular file is replaced only when the export is complete.

    Until then, the export is written to a temporary file. A device or a pipe is written directly.
    """
    target = output.resolve()
    return private(output) if target.exists() and not target.is_file() else replacement(target)


def _standard_output() -> TextIO:
    """Return standard output. If it is a file or a pipe, set its encoding to UTF-8, which an import expects."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")
    return sys.stdout


def _write(stream: TextIO, record: Record) -> None:
    line = to_jsonl(record)
    stream.write(lines_of(line) if stream.isatty() else line)


def _records(system: System, namespace: str) -> Iterator[Record]:
    """Yield the exported fields of every memory, reading one page at a time."""
    for page in pages(system, ExportMemories(namespace=namespace)):
        yield from page["memories"]
