"""Operations that export a namespace, a page at a time, and restore an export."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from mnemosyne.app.operations.operation import FilledName, KeyPosition, Namespace, Operation
from mnemosyne.app.operator import SystemOperator
from mnemosyne.domain.archive import EXTRAS, SMALLEST_ID, ArchivedMemory, read_line
from mnemosyne.domain.memory import ExportedMemory, content_hash
from mnemosyne.domain.parsing import Id, Input, Text
from mnemosyne.formats.writing import to_record

PAGE = 200
ROWS = 2_000
"""Number of requests or records in a page."""
LINES = 100
"""Maximum number of lines that one operation restores."""


class Beginning(Input):
    """The state of a namespace at the beginning of an export."""

    snapshot: Text
    memories: int


class ExportMemories(Operation, action="export", count_field="memories"):
    """Read memories with all fields, oldest first, a page at a time.

    The first page also has the field `began`, the state of the namespace before the export. ExportRecords needs this
    state.
    """

    namespace: Namespace
    after: KeyPosition | None = None

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        began = {} if self.after else {"began": dict(operator.archive_of(self.namespace).begin())}
        page = operator.memories_of(self.namespace).export(PAGE, after=self.after)
        extras = operator.archive_of(self.namespace).extras([memory.id for memory in page]) if page else {}
        # `extras` are the values that only a restore needs. If a memory has no extras, it was deleted after the page
        # was read. Leave out such a memory.
        present = [memory for memory in page if memory.id in extras]
        return {
            "memories": [_memory_line(memory, extras[memory.id]) for memory in present],
            "after": page[-1].cursor if page else None,
            **began,
        }


def _memory_line(memory: ExportedMemory, extras: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line of an export file for a memory, with a mark if its content repeats the content of another memory.

    Only a database that was taken over from an earlier server contains such repetitions. They are recognised by their
    stored content hash, which differs from the hash of their content.
    """
    is_repetition = content_hash(memory.content, memory.session) != memory.content_hash
    return to_record(memory) | {EXTRAS: {**extras, **({"repetition": True} if is_repetition else {})}}


class ExportRequests(Operation, action="export_requests", count_field="lines"):
    """Export the finished ingest requests with their outcomes, as lines of an export file."""

    namespace: Namespace
    after: Id = SMALLEST_ID

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        rows = operator.archive_of(self.namespace).requests(ROWS, self.after)
        after = rows[-1]["request_id"] if len(rows) == ROWS else None
        return {"lines": [{EXTRAS: {"request": row}} for row in rows], "after": after}


class ExportRecords(Operation, action="export_records", count_field="lines"):
    """Export the records, which publishers identify by source and key, as lines of an export file.

    `began` is the state of the namespace before the first page of memories was read. If memories were stored or deleted
    since then, the last page has an additional line that says so, and the field `changed` is true.
    """

    namespace: Namespace
    after: Id = SMALLEST_ID
    began: Beginning | None = None

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        archive = operator.archive_of(self.namespace)
        rows = archive.records(ROWS, self.after)
        after = rows[-1]["key_id"] if len(rows) == ROWS else None
        changed = after is None and self.began is not None and archive.has_changed(dict(self.began))
        lines = [{EXTRAS: {"record": row}} for row in rows] + [{EXTRAS: {"changed": True}}] * changed
        return {"lines": lines, "after": after, "changed": changed}


class RestoreLines(Operation, action="restore", changes_as_owner=True, count_field="stored"):
    """Restore lines of an export file: memories (with their ids, times, ratings and versions), records and outcomes."""

    namespace: FilledName
    lines: Annotated[list[dict[str, Any]], Field(max_length=LINES)]

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        """Restore the lines, and return the number of memories and the number of other lines.

        `changed` in the answer is true if a line says that the namespace changed while it was exported.

        Raises InvalidRequest for a line that is not from an export file. Raises Conflict if the content of a memory is
        already stored under another id, or if the memory's id already belongs to another memory.
        """
        memories: list[ArchivedMemory] = []
        rows: dict[str, list[Any]] = {"request": [], "record": [], "changed": []}
        for fields in self.lines:
            line = read_line(fields)
            if isinstance(line, ArchivedMemory):
                memories.append(line)
            else:
                rows[line[0]].append(line[1])
        stored_count = operator.restore(self.namespace, memories) if memories else 0
        if rows["request"] or rows["record"]:
            operator.archive_of(self.namespace).restore_rows(rows["request"], rows["record"])
        return {
            "memories": len(memories),
            "stored": stored_count,
            "rows": len(rows["request"]) + len(rows["record"]),
            "changed": bool(rows["changed"]),
        }
