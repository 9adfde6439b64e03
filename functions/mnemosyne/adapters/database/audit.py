"""The audit trail in PostgreSQL: read and record events as the schema's owner."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, Final

from mnemosyne.adapters.database import audit_trail
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.rows import json_text, text_array
from mnemosyne.domain.audit import AuditEvent

_LIST: Final = """
SELECT e.id, e.at, e.principal, e.credential, e.client, e.namespace, e.action, e.outcome, e.ids, e.count
FROM audit_events e
WHERE (CAST(:credentials AS text[]) IS NULL OR e.credential = ANY (CAST(:credentials AS text[])))
    AND (CAST(:person AS text) IS NULL OR e.principal IN (
        SELECT prefix || name FROM unnest(ARRAY['oauth:', 'oidc:', 'iam:', 'google:', 'local:', '']) AS prefix,
            (
                SELECT CAST(:person AS text) UNION SELECT lower(CAST(:person AS text))
                UNION SELECT g.subject FROM oauth_grants g WHERE lower(g.person) = lower(CAST(:person AS text))
                UNION SELECT unnest(b.subjects) FROM oauth_blocked_people b WHERE b.who = lower(CAST(:person AS text))
            ) AS names (name)
    ))
    AND (CAST(:client AS text) IS NULL OR e.client = :client)
    AND (CAST(:namespace AS text) IS NULL OR e.namespace = :namespace)
    AND (CAST(:action AS text) IS NULL OR e.action = :action)
    AND (CAST(:since AS timestamptz) IS NULL OR e.at >= CAST(:since AS timestamptz))
    AND (CAST(:after_at AS timestamptz) IS NULL
        OR (e.at, e.id) > (CAST(:after_at AS timestamptz), CAST(:after_id AS bigint)))
ORDER BY e.at, e.id
LIMIT CAST(:limit AS integer)
"""


class AuditLog:
    """Reads and records events of the audit trail, as the schema's owner."""

    def __init__(self, connection: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._connection = connection

    def page(
        self, limit: int, after: tuple[datetime, int] | None, *, key: str | None, grant: str | None, **filters: object
    ) -> Sequence[AuditEvent]:
        """Return a page of the events that match all filters, oldest first.

        The page begins after the event whose time and id are `after`. The filters are key, grant, person (an e-mail
        address or a subject, which is a user id at the identity provider), client, namespace, action and earliest time
        (`since`). A filter that is None matches all events.
        """
        credentials = [f"{kind}:{id_}" for kind, id_ in (("key", key), ("grant", grant)) if id_]
        with self._connection() as connection:
            rows = connection.run(
                _LIST,
                credentials=text_array(credentials) if credentials else None,
                **filters,
                after_at=after[0] if after else None,
                after_id=after[1] if after else None,
                limit=limit,
            )
        return [AuditEvent(**row.by_name) for row in rows]

    def record(self, fields: Mapping[str, Any]) -> None:
        """Record one event. The event is committed when this method returns."""
        with self._connection() as connection:
            event = audit_trail.row_of(fields, datetime.now(UTC).isoformat())
            connection.run(audit_trail.RECORD_ACCESSES, events=json_text([event]), used=json_text({}))
