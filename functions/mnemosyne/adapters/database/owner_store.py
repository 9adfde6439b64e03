"""Stores that only the owner of the schema uses: quotas, grants of OAuth clients, lock-outs and legal holds."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final, Literal, LiteralString
from uuid import UUID

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.rows import uuid_array
from mnemosyne.adapters.database.selections import selection_json
from mnemosyne.adapters.database.statements import Row
from mnemosyne.domain.forgetting import PlacedHold, Selection
from mnemosyne.domain.quota import Quota
from mnemosyne.errors import NotFound
from mnemosyne.ids import new_id


class OwnerStore:
    """Base of a store that opens a connection for each operation."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._open = connect

    def _run(self, sql: LiteralString, **parameters: object) -> list[Row]:
        """Run one statement on a new connection, and return its rows."""
        with closing(self._open()) as connection:
            return connection.run(sql, **parameters)

    def _one(self, sql: LiteralString, **parameters: object) -> Row:
        """Run one statement on a new connection, and return its only row."""
        (row,) = self._run(sql, **parameters)
        return row


# Return all namespaces that have memories or a row in `quotas`. The row with the default limits is first, because its
# namespace is the empty text.
_LIST_QUOTAS: Final = """
SELECT namespace, CAST(coalesce(sum(u.memories), 0) AS bigint) AS memories,
    CAST(coalesce(sum(u.bytes), 0) AS bigint) AS bytes,
    CAST(coalesce(sum(u.texts) FILTER (WHERE u.day = CAST(now() AT TIME ZONE 'UTC' AS date)), 0) AS bigint)
        AS texts_today,
    min(effective_limit(q.memories, everybody.memories)) AS memories_limit,
    min(effective_limit(q.bytes, everybody.bytes)) AS bytes_limit,
    min(effective_limit(q.texts_a_day, everybody.texts_a_day)) AS texts_limit
FROM namespace_usage u
FULL JOIN quotas q USING (namespace)
LEFT JOIN (SELECT memories, bytes, texts_a_day FROM quotas WHERE namespace = '') AS everybody ON true
WHERE CAST(:namespace AS text) IS NULL OR namespace = :namespace
GROUP BY namespace
ORDER BY namespace
"""
_SET_QUOTA: Final = """
INSERT INTO quotas AS q (namespace, memories, bytes, texts_a_day)
VALUES (:namespace, CAST(:memories AS bigint), CAST(:bytes AS bigint), CAST(:texts_a_day AS bigint))
ON CONFLICT (namespace) DO UPDATE SET
    memories = CASE WHEN CAST(:with_memories AS boolean) THEN EXCLUDED.memories ELSE q.memories END,
    bytes = CASE WHEN CAST(:with_bytes AS boolean) THEN EXCLUDED.bytes ELSE q.bytes END,
    texts_a_day = CASE WHEN CAST(:with_texts_a_day AS boolean) THEN EXCLUDED.texts_a_day ELSE q.texts_a_day END
"""
LIMITS: Final = ("memories", "bytes", "texts_a_day")


class Quotas(OwnerStore):
    """Lists and sets quotas."""

    def every(self, namespace: str | None = None) -> Sequence[tuple[str, Quota]]:
        """Return the usage and limits of one namespace, or of all namespaces.

        The entry with the empty name has the default limits.
        """
        quotas = [row.by_name for row in self._run(_LIST_QUOTAS, namespace=namespace)]
        return [(quota.pop("namespace"), Quota(**quota)) for quota in quotas]

    def set(self, namespace: str, limits: Mapping[Any, int | None]) -> None:
        """Set limits of a namespace, or the default limits if the name is empty.

        Limits that are missing in `limits` do not change. The value None means that the default limit applies. For a
        default limit, None means no limit.
        """
        flags = {f"with_{name}": name in limits for name in LIMITS}
        self._run(_SET_QUOTA, namespace=namespace, **{name: limits.get(name) for name in LIMITS}, **flags)


_LIST_GRANTS: Final = """
SELECT g.id, g.person, g.subject, g.namespace, g.client_id, g.client_name AS client, g.scopes, g.granted_at,
    g.expires_at, g.last_used_at
FROM oauth_grants g
WHERE g.revoked_at IS NULL AND g.expires_at > now()
    AND (CAST(:person AS text) IS NULL OR lower(CAST(:person AS text)) IN (lower(g.person), lower(g.subject)))
ORDER BY g.granted_at, g.id
"""
_REVOKE_GRANTS: Final = """
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
    """Lists and revokes the grants of OAuth clients."""

    def every(self, person: str | None) -> Sequence[dict[str, Any]]:
        """Return the active grants, oldest first.

        If `person` (an e-mail address or subject) is given, return only the grants of this person.
        """
        return [_convert_grant(row.by_name) for row in self._run(_LIST_GRANTS, person=person)]

    def revoke(self, ids: Sequence[UUID], person: str | None) -> Sequence[str]:
        """Revoke the active grants with these ids and, if `person` is given, all active grants of this person.

        Returns the ids of the revoked grants.
        """
        return [str(row["id"]) for row in self._run(_REVOKE_GRANTS, ids=uuid_array(ids), person=person)]


def _convert_grant(values: dict[str, Any]) -> dict[str, Any]:
    """Convert the times and the id of a grant to text."""
    times = {name: values[name] and values[name].isoformat() for name in ("granted_at", "expires_at", "last_used_at")}
    return {**values, **times, "id": str(values["id"])}


LockoutKind = Literal["person", "client", "key"]
_LIST_LOCKOUTS: Final = """
SELECT 'person' AS kind, who, subjects, blocked_at FROM oauth_blocked_people
UNION ALL
SELECT 'client', client_id, NULL, blocked_at FROM oauth_blocked_clients
UNION ALL
SELECT 'key', id, NULL, blocked_at FROM api_keys WHERE blocked_at IS NOT NULL
ORDER BY blocked_at, who
"""
# Also store the subjects (user ids at the identity provider) of all grants that belong to this e-mail address. Then the
# person stays blocked even after the identity provider gives this person another e-mail address.
_BLOCK_PERSON: Final = """
WITH known AS (
    SELECT subject FROM oauth_grants WHERE subject = CAST(:who AS text) OR lower(person) = lower(CAST(:who AS text))
    UNION
    SELECT unnest(subjects) FROM oauth_blocked_people WHERE who = CAST(:who AS text)
), blocked AS (
    INSERT INTO oauth_blocked_people (who, subjects)
    VALUES (CAST(:who AS text), ARRAY(SELECT subject FROM known ORDER BY subject))
    ON CONFLICT (who) DO UPDATE SET subjects = EXCLUDED.subjects
), forgotten AS (
    DELETE FROM oauth_consents WHERE subject IN (SELECT subject FROM known)
), ended AS (
    DELETE FROM oauth_requests
    WHERE person ->> 'subject' IN (SELECT subject FROM known) OR person ->> 'subject' = CAST(:who AS text)
        OR lower(person ->> 'name') = lower(CAST(:who AS text))
), revoked AS (
    UPDATE oauth_grants SET revoked_at = now(), revoked_for = 'person blocked by the operator'
    WHERE subject IN (SELECT subject FROM known) AND revoked_at IS NULL AND expires_at > now()
    RETURNING id
)
SELECT id FROM revoked ORDER BY id
"""
_UNBLOCK_PERSON: Final = "DELETE FROM oauth_blocked_people WHERE who = :who RETURNING who"
_BLOCK_CLIENT: Final = """
WITH blocked AS (
    INSERT INTO oauth_blocked_clients (client_id) VALUES (CAST(:who AS text)) ON CONFLICT (client_id) DO NOTHING
), forgotten AS (
    DELETE FROM oauth_consents WHERE client_id = CAST(:who AS text)
), revoked AS (
    UPDATE oauth_grants SET revoked_at = now(), revoked_for = 'client blocked by the operator'
    WHERE client_id = CAST(:who AS text) AND revoked_at IS NULL AND expires_at > now()
    RETURNING id
)
SELECT id FROM revoked ORDER BY id
"""
_UNBLOCK_CLIENT: Final = "DELETE FROM oauth_blocked_clients WHERE client_id = :who RETURNING client_id"
_BLOCK_KEY: Final = "UPDATE api_keys SET blocked_at = coalesce(blocked_at, now()) WHERE id = :who RETURNING id"
_UNBLOCK_KEY: Final = "UPDATE api_keys SET blocked_at = NULL WHERE id = :who AND blocked_at IS NOT NULL RETURNING id"


class Lockouts(OwnerStore):
    """Lists, adds and undoes lock-outs of people, OAuth clients and API keys."""

    def every(self) -> Sequence[dict[str, Any]]:
        """Return all lock-outs, the earliest first.

        Each lock-out has its kind (person, client or key), its time (`blocked_at`), and `who`: the e-mail address or
        subject of the person, or the id of the client or key. A subject is a user id at the identity provider. The
        lock-out of a person also has the known `subjects` of this person.
        """
        rows = [row.by_name | {"blocked_at": row["blocked_at"].isoformat()} for row in self._run(_LIST_LOCKOUTS)]
        return [{name: value for name, value in row.items() if value is not None} for row in rows]

    def add(self, kind: LockoutKind, who: str) -> Sequence[str]:
        """Lock out a person, a client or a key. Revoke the active grants of the person or client, and return their ids.

        `who` is the e-mail address or subject of the person, or the id of the client or key. Raises NotFound for an
        unknown key.
        """
        if kind == "key":
            if not self._run(_BLOCK_KEY, who=who):
                raise NotFound(f"no key has the id {who}: see `mnemosyne keys list`")
            return []
        return [str(row["id"]) for row in self._run(_BLOCK_PERSON if kind == "person" else _BLOCK_CLIENT, who=who)]

    def undo(self, kind: LockoutKind, who: str) -> bool:
        """Undo a lock-out, and return whether there was one."""
        return bool(
            self._run(
                _UNBLOCK_PERSON if kind == "person" else _UNBLOCK_CLIENT if kind == "client" else _UNBLOCK_KEY, who=who
            )
        )


SUSPENDED_AT_ONCE: Final = 500
"""Maximum number of memories whose expiry one transaction suspends."""

_LIST_HOLDS: Final = """
SELECT id, namespace, selection, reason, placed_by, placed_at FROM holds
WHERE CAST(:namespace AS text) IS NULL OR namespace = :namespace
ORDER BY placed_at, id
"""
_PLACE_HOLD: Final = """
INSERT INTO holds (namespace, id, selection, reason, placed_by)
VALUES (:namespace, :id, CAST(:selection AS jsonb), :reason, :placed_by)
ON CONFLICT (namespace, id) DO NOTHING
"""
_SUSPEND_EXPIRIES: Final = """
SELECT suspend_expiries(:namespace, CAST(:id AS uuid), CAST(:limit AS integer)) AS suspended
"""
_RELEASE_HOLD: Final = "DELETE FROM holds WHERE namespace = :namespace AND id = CAST(:id AS uuid) RETURNING id"


class Holds(OwnerStore):
    """Lists, places and releases legal holds. The triggers are in db/functions/05_holds.sql."""

    def every(self, namespace: str | None = None) -> Sequence[PlacedHold]:
        """Return the holds of a namespace or, without a namespace, all holds, the oldest first."""
        return [PlacedHold(**row.by_name) for row in self._run(_LIST_HOLDS, namespace=namespace)]

    def place(
        self, namespace: str, selection: Selection, reason: str, placed_by: str, *, hold_id: UUID | None = None
    ) -> UUID:
        """Place a hold and return its id. If the hold `hold_id` exists already, change nothing.

        The caller then calls `suspend`, which applies the hold to stored memories that would expire.
        """
        hold_id = hold_id or new_id()
        values = {"selection": selection_json(selection), "reason": reason, "placed_by": placed_by}
        self._run(_PLACE_HOLD, namespace=namespace, id=hold_id, **values)
        return hold_id

    def suspend(self, namespace: str, hold_id: UUID) -> int:
        """Suspend the expiry of a batch of held memories, and return their number. The result is 0 if none is left."""
        row = self._one(_SUSPEND_EXPIRIES, namespace=namespace, id=hold_id, limit=SUSPENDED_AT_ONCE)
        return int(row["suspended"])

    def release(self, namespace: str, hold_id: UUID) -> bool:
        """Release a hold, and return whether it existed.

        While a memory is held, it has no expiry. So after the release, the caller must apply the lifetimes of the
        namespace, which computes the expiry of the released memories again.
        """
        return bool(self._run(_RELEASE_HOLD, namespace=namespace, id=hold_id))
