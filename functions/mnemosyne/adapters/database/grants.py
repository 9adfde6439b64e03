"""List and revoke the grants of OAuth clients, as the schema's owner."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from mnemosyne.adapters.database.owner_store import OwnerStore
from mnemosyne.adapters.database.rows import uuid_array

_LIST: Final = """
SELECT g.id, g.person, g.subject, g.namespace, g.client_id, g.client_name AS client, g.scopes, g.granted_at,
    g.expires_at, g.last_used_at
FROM oauth_grants g
WHERE g.revoked_at IS NULL AND g.expires_at > now()
    AND (CAST(:person AS text) IS NULL OR lower(CAST(:person AS text)) IN (lower(g.person), lower(g.subject)))
ORDER BY g.granted_at, g.id
"""
_REVOKE: Final = """
WITH revoked AS (
    UPDATE oauth_grants g SET revoked_at = now(), revoked_for = 'revoked by the operator'
    WHERE g.revoked_at IS NULL AND g.expires_at > now()
        AND (g.id = ANY (CAST(:ids AS uuid[])) OR lower(CAST(:person AS text)) IN (lower(g.person), lower(g.subject)))
    RETURNING g.id, g.subject, g.client_id
), forgotten AS (
    DELETE FROM oauth_consents k USING revoked r WHERE k.subject = r.subject AND k.client_id = r.client_id
)
SELECT id FROM revoked ORDER BY id
"""


class GrantStore(OwnerStore):
    """Lists and revokes grants as the schema's owner. Opens a connection for each operation."""

    def every(self, person: str | None) -> Sequence[dict[str, Any]]:
        """Return the active grants, oldest first.

        If `person` (an e-mail address or subject) is given, return only the grants of this person.
        """
        return [_to_json_values(row.by_name) for row in self._run(_LIST, person=person)]

    def revoke(self, ids: Sequence[UUID], person: str | None) -> Sequence[str]:
        """Revoke the active grants with these ids and, if `person` is given, all active grants of this person.

        Returns the ids of the revoked grants.
        """
        return [str(row["id"]) for row in self._run(_REVOKE, ids=uuid_array(ids), person=person)]


def _to_json_values(values: dict[str, Any]) -> dict[str, Any]:
    """Convert the times and the id of a grant to text."""
    times = {name: values[name] and values[name].isoformat() for name in ("granted_at", "expires_at", "last_used_at")}
    return {**values, **times, "id": str(values["id"])}
