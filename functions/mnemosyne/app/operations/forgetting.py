"""Operations that forget memories and issue receipts.

A forgetting deletes the memories that a selection matches, and their texts in requests and dead letters.
"""

import time
from hashlib import sha256
from shlex import quote
from typing import Any
from uuid import UUID

from pydantic import Field

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.app.operations.operation import FilledName, IdPosition, Operation, Selecting, values_of
from mnemosyne.app.operator import SystemOperator
from mnemosyne.domain.audit import current_action
from mnemosyne.domain.forgetting import Forgetting, receipt_of
from mnemosyne.domain.parsing import Id, Text
from mnemosyne.errors import Conflict, NotFound
from mnemosyne.ids import new_id
from mnemosyne.service import forgetting

PAGE = 100
LIST_LIMIT = 100
"""Maximum number of forgettings in a list."""
IDS = 2_000
"""Maximum number of memories' ids in a page."""
SECONDS = 30.0
"""Seconds after which an operation ends its page early. The caller continues with the next page."""


class PreviewForgetting(Selecting, action="forget_preview"):
    """List, a page at a time, the memories that a forgetting (a deletion of selected memories) would delete.

    The answer also has the number of these memories, the legal holds that keep some of them, and a token, which
    identifies the set of memories. BeginForgetting requires the token as a confirmation.
    """

    cursor: IdPosition | None = None

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        preview = operator.memories_of(self.namespace).preview_forgetting(self.selection, PAGE, after=self.cursor)
        return values_of(preview, "token", "memories", "holds", "page") | {"cursor": preview.after}


class BeginForgetting(Selecting, action="forget"):
    """Begin a forgetting of the memories that the token of a preview identifies.

    Nothing is deleted yet. The caller must then call ContinueForgetting, which deletes the memories. Fails if the
    selection now matches other memories than in the preview, or if a legal hold keeps a memory.
    """

    token: Text
    forgetting: Id = Field(default_factory=new_id)
    """Id of the forgetting. If an operation is sent again because its answer was lost, it has the same id, so that no
    second forgetting begins."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        action = current_action()
        by = action.principal.id if action else ""
        memories = operator.memories_of(self.namespace)
        forgetting.begin(self.selection, self.token, by, memories=memories, forgetting_id=self.forgetting)
        return {"id": str(self.forgetting)}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"namespace": self.namespace, "forgetting": answer["id"]}


class ContinueForgetting(Operation, action="forget_continue"):
    """Delete the memories of a forgetting that BeginForgetting has begun, a page at a time."""

    namespace: FilledName
    id: Id
    after: bool = False

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        memories, deadline = operator.memories_of(self.namespace), time.monotonic() + SECONDS
        _read_forgetting(self.id, memories)
        state = forgetting.proceed(self.id, memories=memories, deadline=deadline)
        return values_of(state, "memories", "left", "finished_at") | {"after": state.finished_at is None}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"namespace": self.namespace, "forgetting": str(self.id), "count": answer["memories"] - answer["left"]}


class IssueReceipt(Operation, action="receipt"):
    """Issue the signed receipt of a finished forgetting (a deletion of selected memories).

    The receipt has a digest of the ids of the memories, not the ids.
    """

    namespace: FilledName
    id: Id

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        memories = operator.memories_of(self.namespace)
        state = _read_forgetting(self.id, memories)
        if state.finished_at is None:
            command = f"mnemosyne forget --namespace {quote(self.namespace)} --continue {self.id}"
            raise Conflict(f"the forgetting {self.id} is not finished: run `{command}`")
        receipt = receipt_of(state, _digest_ids(self.id, memories))
        return {"receipt": receipt, **operator.sign(receipt)}


class ListForgettings(Operation, action="forgettings"):
    """List the latest forgettings (deletions of selected memories) of a namespace, at most 100, the latest first."""

    namespace: FilledName

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        names = ("id", "selection", "requested_by", "started_at", "finished_at", "memories", "left")
        states = operator.memories_of(self.namespace).forgettings(LIST_LIMIT)
        return {"forgettings": [values_of(state, *names) for state in states]}


class ListReceiptKeys(Operation, action="receipt_keys"):
    """List the public keys with which receipts of forgettings are verified, as a JWK Set (RFC 7517)."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"keys": operator.receipt_keys()}


class ListForgotten(Operation, action="forgotten_ids"):
    """List the ids of the memories that a forgetting has deleted or will delete, a page at a time."""

    namespace: FilledName
    id: Id
    after: Id | None = None

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        ids = operator.memories_of(self.namespace).forgotten_ids(self.id, IDS, after=self.after)
        return {"ids": ids, "after": ids[-1] if len(ids) == IDS else None}


def _digest_ids(forgetting_id: UUID, memories: MemoryStore) -> str:
    """Return the SHA-256 of the ids of a forgetting's memories, in ascending order, with a line feed after each id."""
    digest, after = sha256(), None
    while ids := memories.forgotten_ids(forgetting_id, IDS, after=after):
        digest.update("".join(f"{memory_id}\n" for memory_id in ids).encode())
        after = ids[-1]
    return digest.hexdigest()


def _read_forgetting(forgetting_id: UUID, memories: MemoryStore) -> Forgetting:
    """Read the state of a forgetting. Raises NotFound, with the command that lists forgettings."""
    try:
        return forgetting.read(forgetting_id, memories=memories)
    except NotFound as exc:
        raise NotFound(f"{exc}: see `mnemosyne receipt list --namespace {quote(memories.namespace)}`") from exc
