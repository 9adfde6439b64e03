"""Forgettings in PostgreSQL. The SQL functions are in db/functions/15_forgetting.sql.

A forgetting deletes the memories that a selection matches, and their texts in requests and dead letters.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from pydantic import TypeAdapter

from mnemosyne.adapters.database import ingest_sql
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memory_database import NamespaceStore
from mnemosyne.adapters.database.rows import json_text
from mnemosyne.adapters.database.selections import forgettable_json, selection_json
from mnemosyne.adapters.database.server_errors import smaller_on_timeout
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.forgetting import BEGINNING, Forgetting, ForgettingEffects, Preview, Selection
from mnemosyne.domain.memory import Cursor, IngestRequest, KeysetCursor, Reading
from mnemosyne.domain.visible import one_line
from mnemosyne.errors import Unavailable

FORGOTTEN_AT_ONCE: Final = 500
"""Maximum number of memories that one transaction deletes. Each statement timeout reduces the number to a tenth."""

_PREVIEW: Final = """
SELECT preview_forgetting(
    :namespace, CAST(:selection AS jsonb), CAST(:after AS timestamptz), CAST(:after_id AS uuid), CAST(:limit AS integer)
) AS preview
"""
_BEGIN: Final = """
SELECT begin_forgetting(:namespace, CAST(:id AS uuid), CAST(:selection AS jsonb), :token, :requested_by) AS memories
"""
_FORGET_SOME: Final = "SELECT forget_some(:namespace, CAST(:id AS uuid), CAST(:limit AS integer)) AS memories"
_FORGET_IN_LETTER: Final = """
SELECT forget_in_letter(
    :namespace, CAST(:id AS uuid), :message_id, CAST(:message AS bytea), CAST(:data AS bytea), :cause,
    CAST(:requests AS jsonb)
) AS changed
"""
_RECORD_CHECKED_LETTER: Final = """
SELECT record_checked_letter(:namespace, CAST(:id AS uuid), CAST(:at AS timestamptz), :message_id)
"""
_FINISH: Final = "SELECT finish_forgetting(:namespace, CAST(:id AS uuid))"
_REFRESH: Final = "SELECT refresh_statistics()"
_READ: Final = "SELECT read_forgetting(:namespace, CAST(:id AS uuid)) AS forgetting"
_LIST: Final = "SELECT list_forgettings(:namespace, CAST(:limit AS integer)) AS forgettings"
# Statement timeout of preview_forgetting and begin_forgetting. These SQL functions read all selected memories, which
# takes some seconds for a hundred thousand memories.
_LONG: Final = "SELECT set_config('statement_timeout', '40s', true)"
_IDS: Final = """
SELECT forgotten_ids(:namespace, CAST(:id AS uuid), CAST(:after AS uuid), CAST(:limit AS integer)) AS ids
"""

_PREVIEW_TYPE: Final = TypeAdapter(Preview)
_FORGETTING_TYPE: Final = TypeAdapter(Forgetting)


class ForgettingStore(NamespaceStore):
    """The methods of MemoryStore that forget selected memories in several transactions.

    To forget memories means to delete them with their texts, and to prevent earlier messages from storing them again.
    """

    def preview_forgetting(self, selection: Selection, limit: int, *, after: Cursor | None = None) -> Preview:
        """Return the number of memories that match a selection, and a page of these memories, oldest first.

        A forgetting with this selection would delete these memories.
        """
        with self._transaction() as connection:
            connection.run(_LONG)
            preview = connection.one(
                _PREVIEW,
                namespace=self.namespace,
                selection=selection_json(selection),
                after=after.timestamp if after else None,
                after_id=after.id if after else None,
                limit=limit + 1,
            )["preview"]
        page = [{**row, "beginning": one_line(row["beginning"])[:BEGINNING]} for row in preview["page"]]
        last = page[limit - 1] if len(page) > limit else None
        return _PREVIEW_TYPE.validate_python(
            {**preview["set"], "page": page[:limit], "holds": preview["holds"], "after": last}
        )

    def begin_forgetting(self, forgetting_id: UUID, selection: Selection, token: str, requested_by: str) -> int:
        """Begin a forgetting (a deletion of selected memories), and return the number of memories that it will delete.

        `token` is from the preview, and identifies the memories that the preview has found. Raises Conflict if the
        selection no longer matches exactly these memories, or if a legal hold is on one of them. A selection of all
        memories is also a Conflict if the namespace has any legal hold.
        """
        with self._transaction() as connection:
            connection.run(_LONG)
            memories: int = connection.one(
                _BEGIN,
                namespace=self.namespace,
                id=forgetting_id,
                selection=selection_json(selection),
                token=token,
                requested_by=requested_by,
            )["memories"]
            self._record_action(connection, [forgetting_id], count=memories)
        return memories

    def forget_some(self, forgetting_id: UUID) -> int:
        """Delete a batch of memories in one transaction, as a step of a forgetting (a deletion of selected memories).

        Returns the number of deleted memories: 0 when none is left. After a statement timeout, the next attempt deletes
        a tenth of the batch.
        """
        return smaller_on_timeout(
            lambda limit: int(self._one(_FORGET_SOME, id=forgetting_id, limit=limit)["memories"]), FORGOTTEN_AT_ONCE
        )

    def forget_in_letter(
        self, forgetting_id: UUID, letter: DeadLetter, data: bytes | None, cause: str, requests: Sequence[Reading]
    ) -> bool:
        """Remove the texts of forgotten memories from a dead letter, and record `requests` as deleted.

        `data` and `cause` replace the data and the cause of the dead letter. If `data` is None, the dead letter is
        deleted. If the dead letter in the database has changed since `letter` was read, the method changes nothing and
        returns false.
        """
        entries = [
            {"request_id": request.request_id, "content_hash": getattr(request, "content_hash", None)}
            for request in requests
        ]
        row = self._one(
            _FORGET_IN_LETTER,
            id=forgetting_id,
            message_id=letter.message_id,
            message=sha256(letter.data).digest(),
            data=data,
            cause=cause,
            requests=json_text(entries),
        )
        return bool(row["changed"])

    def record_checked_letter(self, forgetting_id: UUID, last: KeysetCursor) -> None:
        """Record the last dead letter that a forgetting (deletion of memories) has searched for forgotten texts."""
        self._run(_RECORD_CHECKED_LETTER, id=forgetting_id, at=last.timestamp, message_id=last.key)

    def finish_forgetting(self, forgetting_id: UUID) -> None:
        """Record that a forgetting (a deletion of selected memories) is finished, if all its memories are deleted.

        First, PostgreSQL's planner statistics are computed again, because they contain tags, sessions and words of
        deleted memories. If the computation takes too long, autovacuum repeats it later.
        """
        with suppress(Unavailable), self._transaction() as connection:
            connection.run(_REFRESH)
        self._run(_FINISH, id=forgetting_id)

    def forgetting(self, forgetting_id: UUID) -> Forgetting | None:
        """Return the forgetting (deletion of selected memories) with this id, or None if it does not exist."""
        row = self._one(_READ, id=forgetting_id)["forgetting"]
        return None if row is None else _read_forgetting(row)

    def forgettings(self, limit: int) -> Sequence[Forgetting]:
        """Return the latest forgettings (deletions of selected memories), the latest first."""
        return [_read_forgetting(row) for row in self._one(_LIST, limit=limit)["forgettings"]]

    def forgotten_ids(self, forgetting_id: UUID, limit: int, *, after: UUID | None = None) -> Sequence[UUID]:
        """Return a page of the ids of memories that a forgetting has deleted or will delete, in ascending order.

        A forgetting is a deletion of selected memories. The page begins after the id `after`.
        """
        return [*self._one(_IDS, id=forgetting_id, after=after, limit=limit)["ids"]]

    def forgetting_effects(
        self, requests: Sequence[IngestRequest], forgetting_id: UUID | None = None
    ) -> ForgettingEffects:
        """Return the ids of requests that must not be stored, and a summary of the namespace's forgettings.

        A forgetting is a deletion of selected memories. The ids belong to the requests to which a forgetting applies
        (see forgotten_requests). If `forgetting_id` is given, only this forgetting is considered, otherwise all
        forgettings of the namespace.
        """
        with self._transaction() as connection:
            effects = connection.one(ingest_sql.ENTER_TO_STORE, namespace=self.namespace)["standing"]
            covered = (
                forgotten_requests(connection, self.namespace, requests, forgetting_id)
                if requests and effects["forgettings"]
                else ()
            )
        latest, all_before = (
            datetime.fromisoformat(effects[name]) if effects[name] else None
            for name in ("forgotten_before", "all_before")
        )
        return ForgettingEffects(
            covered=covered, forgettings=effects["forgettings"], latest=latest, all_before=all_before
        )


def _read_forgetting(row: dict[str, Any]) -> Forgetting:
    letter = {"timestamp": row["letter_at"], "key": row["letter_id"]} if row["letter_at"] else None
    return _FORGETTING_TYPE.validate_python({**row, "letter": letter})


def check_forgettings(connection: Connection, namespace: str, forgettings: int) -> None:
    """Set the namespace of a transaction, and check that no forgetting has begun since a message was read.

    A forgetting is a deletion of selected memories. `forgettings` is the number of forgettings when the message was
    read. Raises Unavailable if the number has changed since then, so that the next delivery reads the message again.
    Until the transaction ends, no forgetting can begin. If `namespace` is an empty text, the function does nothing.
    """
    if not namespace:
        return
    effects = connection.one(ingest_sql.ENTER_TO_STORE, namespace=namespace)["standing"]
    if effects["forgettings"] != forgettings:
        raise Unavailable("a forgetting has begun since the message was read: the next delivery reads it again")


def forgotten_requests(
    connection: Connection, namespace: str, requests: Sequence[IngestRequest], forgetting_id: UUID | None = None
) -> Collection[UUID]:
    """Return the ids of the requests that must not be stored, because a forgetting applies to them.

    A forgetting is a deletion of selected memories. It applies to requests that were published before it began, if they
    have the content of a forgotten memory, or match the selection of the forgetting. It does not apply to requests that
    match a legal hold, if the hold was placed before the forgetting began. If `forgetting_id` is given, only this
    forgetting is considered, otherwise all forgettings of the namespace.
    """
    answer = connection.one(
        ingest_sql.FORGOTTEN_REQUESTS, namespace=namespace, records=forgettable_json(requests), id=forgetting_id
    )
    return frozenset(answer["request_ids"])
