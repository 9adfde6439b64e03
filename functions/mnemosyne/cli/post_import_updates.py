"""Set the tags and successors of imported memories, after an import has stored all memories."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from uuid import UUID

from mnemosyne.cli.importer import Destination
from mnemosyne.cli.journal import Journal, PostImportUpdate
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.errors import Conflict, InvalidRequest, NotFound


def apply(journals: Sequence[Journal], destination: Destination) -> None:
    """Give stored memories exactly the tags and the successors that they have in the imported files.

    The ingest requests cannot do this, for two reasons. They cannot name a successor (the memory that replaces one).
    And they always add the tags in the `TAGS:` line of a memory's content to its other tags.

    A change that the destination rejects is recorded in the journal as a failure.
    """
    contents: set[str] = set()
    changed: list[Journal] = []
    for journal in journals:
        with closing(journal):
            journal.forget_update_failures()
            for update in journal.updates():
                contents |= {update.content, update.successor or update.content}
                changed = changed if journal in changed[-1:] else [*changed, journal]
    if not changed:  # the case of most imports: skip the code below, which opens all journals of the import again
        return
    stored: dict[str, tuple[UUID, bool]] = {}
    for journal in reversed(journals):
        with closing(journal):
            for content in contents:
                if memory := journal.stored(content):
                    # Several files can have this content, and the journal of each says whether its record has created
                    # the memory. The import has created the memory if one of the journals says so.
                    stored[content] = (memory[0], memory[1] or stored.get(content, memory)[1])
    for journal in changed:
        with closing(journal):
            for update in list(journal.updates()):
                for error in _apply_one(update, stored, destination):
                    journal.add_update_failure(update.source, error)


def _apply_one(
    update: PostImportUpdate, stored: Mapping[str, tuple[UUID, bool]], destination: Destination
) -> Iterator[str]:
    """Set the tags and the successor of one memory, and yield the error messages.

    `stored` has, for each content hash, the id of the stored memory and whether this import has created it. A memory
    that this import has not created is not changed. Otherwise the import of an old export would undo changes that were
    made later.
    """
    memory_id, is_new = stored.get(update.content, (None, False))
    if memory_id is None or not is_new:
        return
    changes = [MemoryChange(tags=update.tags)] if update.tags is not None else []
    if update.successor and update.successor in stored:
        changes.append(MemoryChange(superseded_by=stored[update.successor][0]))
    elif update.successor:
        yield "stored, but its successor is not in these files: set superseded_by with update_memory"
    for change in changes:
        try:
            destination.change(memory_id, change)
        except (InvalidRequest, NotFound, Conflict) as exc:
            yield f"stored, but its tags or successor could not be set: {exc}"
