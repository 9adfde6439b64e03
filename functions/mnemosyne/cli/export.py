"""`mnemosyne export`: write a namespace's memories to files that `mnemosyne import` reads."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from mnemosyne.cli.open_services import DEFAULT_NAMESPACE, open_services
from mnemosyne.cli.private import private
from mnemosyne.cli.target import DATA_DIR, target
from mnemosyne.cli.terminal import lines_of, say
from mnemosyne.domain.memory import ExportedMemory, KeysetCursor
from mnemosyne.domain.plurals import counted
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats.writing import to_jsonl, to_markdown
from mnemosyne.ports.memories import MemoryStore

PAGE = 200


@click.command()
@click.option("--format", "format_", type=click.Choice(["jsonl", "markdown"]), default="jsonl", show_default=True)
@click.option("--output", type=click.Path(path_type=Path), help="File (jsonl) or directory (markdown) [default: -].")
@click.option("--namespace", default=DEFAULT_NAMESPACE, show_default=True, help="The namespace to export.")
@target(DATA_DIR)
def export(format_: str, output: Path | None, namespace: str, data_dir: str | None) -> None:
    """Write all memories, oldest first, with their supersession but without ratings and reads."""
    if format_ == "markdown" and output is None:
        raise click.UsageError("markdown needs --output DIR: one file per memory")
    try:
        count = _export(format_, output, namespace, data_dir)
    except OSError as exc:
        raise InvalidRequest(f"{output or 'the output'} cannot be written: {exc}") from exc
    say(f"{counted(count, 'memory', 'memories')} exported.", err=True)


def _export(format_: str, output: Path | None, namespace: str, data_dir: str | None) -> int:
    count = 0
    with open_services(data_dir) as services:
        if format_ == "markdown" and output is not None:
            output.mkdir(mode=0o700, parents=True, exist_ok=True)
            for memory in memories(services.memories_of(namespace)):
                name, text = to_markdown(memory)
                with private(output / name, follow=False) as file:
                    file.write(text)
                count += 1
        else:
            stream = private(output) if output else sys.stdout
            for memory in memories(services.memories_of(namespace)):
                line = to_jsonl(memory)
                stream.write(lines_of(line) if stream.isatty() else line)
                count += 1
            stream.flush()
            if output:
                stream.close()
    return count


def memories(store: MemoryStore) -> Iterator[ExportedMemory]:
    """Yield every memory, reading one page at a time."""
    after: KeysetCursor | None = None
    while page := store.export(PAGE, after=after):
        yield from page
        after = page[-1].cursor
