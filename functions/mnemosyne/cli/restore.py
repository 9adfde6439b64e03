"""`mnemosyne import --restore`: restore a complete export exactly, as the role that owns the schema."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mnemosyne.app.operations.export import LINES, RestoreLines
from mnemosyne.app.operator import SystemOperator
from mnemosyne.cli.open_services import data_directory, owner_settings, settings_of_a_system
from mnemosyne.cli.system import LocalSystem, System
from mnemosyne.cli.terminal import say
from mnemosyne.domain.parsing import read_json
from mnemosyne.domain.plurals import counted
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats.item import ITEM_BYTES


def restore_files(files: Sequence[Path], namespace: str, data_dir: str | None, *, as_json: bool) -> None:
    """Restore exports in JSON lines into a namespace.

    Memories that are already stored are skipped, so that a run can be repeated. Raises InvalidRequest for a line that
    is not from a complete export, and Conflict.
    """
    totals = {"memories": 0, "stored": 0, "rows": 0}
    with _owner(data_dir) as system:
        for lines in _batches(files):
            answer = system.run(RestoreLines(namespace=namespace, lines=lines))
            totals = {name: count + answer[name] for name, count in totals.items()}
    if as_json:
        say(json.dumps(totals))
        return
    left_out = totals["memories"] - totals["stored"]
    restored = counted(totals["stored"], "memory", "memories")
    rows = counted(totals["rows"], "outcome or record", "outcomes and records")
    why = "because they were there, have expired or were forgotten"
    say(f"{restored} restored, {left_out:,} left out {why}; {rows}.")


def _batches(files: Sequence[Path]) -> Iterator[list[dict[str, Any]]]:
    """Yield the lines in lists of at most LINES lines and ITEM_BYTES bytes.

    A line with more bytes is in a list of its own.
    """
    batch: list[dict[str, Any]] = []
    size = 0
    for path in files:
        if not path.is_file():
            raise InvalidRequest(f"{path} is no file: --restore reads a file that `mnemosyne export` has written")
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                fields = read_json(line, of=f"{path}:{number}")
                if not isinstance(fields, dict):
                    raise InvalidRequest(f"{path}:{number} must be a JSON object")
                if batch and (len(batch) == LINES or size + len(line) > ITEM_BYTES):
                    yield batch
                    batch, size = [], 0
                batch.append(fields)
                size += len(line)
    if batch:
        yield batch


@contextmanager
def _owner(data_dir: str | None) -> Iterator[System]:
    """Yield the settings' system or a local one, as the role that owns the schema."""
    if settings_of_a_system() and data_dir is None:
        yield LocalSystem(SystemOperator(owner_settings()))
        return
    from mnemosyne.cli.local import postgres, stack

    directory = data_directory(data_dir, make=True)
    with stack.ingest_stack(directory) as settings, stack.database(directory) as server:
        yield LocalSystem(SystemOperator(settings.model_copy(update={"database_url": server.url(postgres.OWNER)})))
