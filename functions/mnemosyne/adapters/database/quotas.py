"""List and set the quotas of all namespaces in PostgreSQL, as the schema's owner."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mnemosyne.adapters.database.owner_store import OwnerStore
from mnemosyne.domain.quota import Quota

# Return all namespaces that have memories or a row in `quotas`. The default limits are first.
_LIST: Final = """
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
_SET: Final = """
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
        rows = self._run(_LIST, namespace=namespace)
        quotas = [row.by_name for row in rows]
        return [(quota.pop("namespace"), Quota(**quota)) for quota in quotas]

    def set(self, namespace: str, limits: Mapping[Any, int | None]) -> None:
        """Set limits of a namespace, or the default limits if the name is empty.

        The value None means that the default limit applies. For a default limit, None means no limit.
        """
        flags = {f"with_{name}": name in limits for name in LIMITS}
        values = {name: limits.get(name) for name in LIMITS}
        self._run(_SET, namespace=namespace, **values, **flags)
