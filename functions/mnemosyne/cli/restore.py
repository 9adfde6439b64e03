"""Restore complete exports, for `mnemosyne import --restore`."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any

from mnemosyne.app.operations.export import LINES, RestoreLines
from mnemosyne.app.operator import SystemOperator
from mnemosyne.cli.open_services import data_directory, owner_settings, settings_of_a_system
from mnemosyne.cli.system import LocalSystem, System
from mnemosyne.cli.terminal import FAULTS, say
from mnemosyne.domain.batches import batches
from mnemosyne.domain.parsing import read_json
from mnemosyne.domain.plurals import quantity
from mnemosyne.errors import InvalidRequest, MnemosyneError
from mnemosyne.formats.item import ITEM_BYTES
from mnemosyne.formats.reading import utf_8_text


def restore_files(files: Sequence[Path], namespace: str, data_dir: str | None, *, as_json: bool) -> None:
    """Restore exports in JSON lines into a namespace.

    Memories that are already stored are skipped, so the command can be repeated after an interruption. Raises
    InvalidRequest for a line that is not from a complete export. Raises Conflict if the content of an exported memory
    is already stored under another id, or if its id already belongs to another memory.
    """
    totals = {"memories": 0, "stored": 0, "rows": 0}
    changed = False
    with _owners_system(data_dir) as system:
        try:
            for batch in batches(_lines(files), itemgetter(1), most=LINES, largest=ITEM_BYTES):
                answer = system.run(RestoreLines(namespace=namespace, lines=[fields for fields, _ in batch]))
                totals = {name: count + answer[name] for name, count in totals.items()}
                changed = changed or answer["changed"]
        except FAULTS:
            restored = quantity(totals["stored"], "memory", "memories")
            say(f"Interrupted: {restored} restored so far; the same command continues and skips these.", err=True)
            raise
        except MnemosyneError:
            if totals["stored"]:
                say(f"{quantity(totals['stored'], 'memory', 'memories')} restored before this error.", err=True)
            raise
    if changed:
        say(
            "Warning: the namespace changed while it was exported. Deleted memories may be back, and older versions of "
            "records may be current. Publish again what was published during the export.",
            err=True,
        )
    if as_json:
        say(json.dumps(totals))
        return
    left_out = totals["memories"] - totals["stored"]
    restored = quantity(totals["stored"], "memory", "memories")
    rows = quantity(totals["rows"], "outcome or record", "outcomes and records")
    why = "because they were stored already, have expired or were forgotten"
    say(f"{restored} restored, {left_out:,} left out {why}; {rows}.")


def _lines(files: Sequence[Path]) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the fields of each line, and the length of the line in bytes."""
    for path in files:
        if not path.is_file():
            raise InvalidRequest(f"{path} is not a file: --restore reads a file that `mnemosyne export` has written")
        with path.open("rb") as stream:
            for number, line in enumerate(utf_8_text(stream, str(path)), 1):
                if not line.strip():
                    continue
                fields = read_json(line, of=f"{path}:{number}")
                if not isinstance(fields, dict):
                    raise InvalidRequest(f"{path}:{number} must be a JSON object")
                yield fields, len(line)


@contextmanager
def _owners_system(data_dir: str | None) -> Iterator[System]:
    """Yield a system whose operations run as the role that owns the schema.

    It is the local system in `data_dir`. Without `data_dir`, it is the system that the settings in the environment
    name. Without such settings, it is the user's local system.
    """
    if settings_of_a_system() and data_dir is None:
        yield LocalSystem(SystemOperator(owner_settings()))
        return
    from mnemosyne.cli.local import postgres, stack

    directory = data_directory(data_dir, create=True)
    with stack.ingest_stack(directory) as settings, stack.database(directory) as server:
        yield LocalSystem(SystemOperator(settings.model_copy(update={"database_url": server.url(postgres.OWNER)})))
