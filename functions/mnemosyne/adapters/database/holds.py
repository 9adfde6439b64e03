"""Legal holds in PostgreSQL, as the schema's owner. The triggers are in db/functions/05_holds.sql."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from mnemosyne.adapters.database.owner_store import OwnerStore
from mnemosyne.adapters.database.selections import selection_json
from mnemosyne.domain.forgetting import PlacedHold, Selection

SUSPENDED_AT_ONCE: Final = 500
"""Maximum number of memories whose expiry one transaction suspends."""

_LIST: Final = """
SELECT id, namespace, selection, reason, placed_by, placed_at FROM holds
WHERE CAST(:namespace AS text) IS NULL OR namespace = :namespace
ORDER BY placed_at, id
"""
_PLACE: Final = """
INSERT INTO holds (namespace, selection, reason, placed_by)
VALUES (:namespace, CAST(:selection AS jsonb), :reason, :placed_by)
RETURNING id
"""
_SUSPEND: Final = """
SELECT suspend_expiries(:namespace, CAST(:id AS uuid), CAST(:limit AS integer)) AS suspended
"""
_RELEASE: Final = "DELETE FROM holds WHERE namespace = :namespace AND id = CAST(:id AS uuid) RETURNING id"


class Holds(OwnerStore):
    """Lists, places and releases legal holds, for the operator."""

    def every(self, namespace: str | None = None) -> Sequence[PlacedHold]:
        """Return the holds of a namespace or, without a namespace, all holds, the oldest first."""
        return [PlacedHold(**row.by_name) for row in self._run(_LIST, namespace=namespace)]

    def place(self, namespace: str, selection: Selection, reason: str, placed_by: str) -> UUID:
        """Place a hold and return its id.

        The caller then calls `suspend`, which applies the hold to stored memories that would expire.
        """
        values = {"namespace": namespace, "reason": reason, "placed_by": placed_by}
        hold_id: UUID = self._one(_PLACE, selection=selection_json(selection), **values)["id"]
        return hold_id

    def suspend(self, namespace: str, hold_id: UUID) -> int:
        """Suspend the expiry of a batch of held memories, and return their number. The result is 0 if none is left."""
        row = self._one(_SUSPEND, namespace=namespace, id=hold_id, limit=SUSPENDED_AT_ONCE)
        suspended: int = row["suspended"]
        return suspended

    def release(self, namespace: str, hold_id: UUID) -> bool:
        """Release a hold, and return whether it existed.

        While a memory is held, it has no expiry. So after the release, the caller must apply the lifetimes of the
        namespace, which computes the expiry of the released memories again.
        """
        return bool(self._run(_RELEASE, namespace=namespace, id=hold_id))
