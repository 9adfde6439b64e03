"""Set the lifetimes of memories, and remove expired memories, as the schema's owner."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Final

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.owner_store import OwnerStore
from mnemosyne.adapters.database.server_errors import smaller_on_timeout
from mnemosyne.domain.retention import AppliedRetention, NamespaceRetention, RetentionCursor

REMOVED_AT_ONCE: Final = 500
"""Maximum number of expired memories that one transaction removes."""
APPLIED_AT_ONCE: Final = 500
"""Maximum number of memories whose expiry one transaction computes again."""

_LIST: Final = """
WITH expiring AS (
    SELECT namespace, count(*) AS memories FROM memories WHERE expires_at > now() GROUP BY namespace
)
SELECT namespace, coalesce(e.memories, 0) AS expiring,
    CASE WHEN r.namespace IS NULL THEN everybody.default_lifetime ELSE r.default_lifetime END AS "default",
    CASE WHEN r.namespace IS NULL THEN everybody.maximum_lifetime ELSE r.maximum_lifetime END AS maximum
FROM retention r
FULL JOIN expiring e USING (namespace)
LEFT JOIN (SELECT default_lifetime, maximum_lifetime FROM retention WHERE namespace = '') AS everybody ON true
ORDER BY namespace
"""
# Return the lifetimes of the namespace or, if it has no own lifetimes, the lifetimes of the namespace ''. The namespace
# '' is last in the descending order, because every collation sorts an empty text before all other texts.
_CURRENT: Final = """
SELECT default_lifetime AS "default", maximum_lifetime AS maximum FROM retention
WHERE namespace IN (:namespace, '') ORDER BY namespace DESC LIMIT 1
"""
# A lifetime whose flag (:with_default or :with_maximum) is false keeps its value. If the namespace has no lifetimes of
# its own yet, this lifetime gets the value of the namespace ''.
_SET: Final = """
INSERT INTO retention AS r (namespace, default_lifetime, maximum_lifetime)
SELECT :namespace,
    CASE WHEN CAST(:with_default AS boolean) THEN CAST(:default AS bigint) ELSE max(e.default_lifetime) END,
    CASE WHEN CAST(:with_maximum AS boolean) THEN CAST(:maximum AS bigint) ELSE max(e.maximum_lifetime) END
FROM retention e
WHERE e.namespace = ''
ON CONFLICT (namespace) DO UPDATE
SET default_lifetime = CASE WHEN CAST(:with_default AS boolean) THEN EXCLUDED.default_lifetime
        ELSE r.default_lifetime END,
    maximum_lifetime = CASE WHEN CAST(:with_maximum AS boolean) THEN EXCLUDED.maximum_lifetime
        ELSE r.maximum_lifetime END
RETURNING default_lifetime AS "default", maximum_lifetime AS maximum
"""
_CLEAR: Final = "DELETE FROM retention WHERE namespace = :namespace RETURNING namespace"
# Return the namespaces whose memories a change of lifetimes affects: the namespace itself or, for the namespace '', all
# namespaces without their own lifetimes.
_NAMESPACES: Final = """
SELECT DISTINCT u.namespace FROM namespace_usage u
WHERE CASE WHEN :namespace = '' THEN NOT EXISTS (SELECT FROM retention r WHERE r.namespace = u.namespace)
    ELSE u.namespace = :namespace END
ORDER BY u.namespace
"""
_EXPIRED_BY: Final = """
SELECT count(*) AS memories FROM memories m
WHERE m.namespace = :namespace AND is_unexpired(m.expires_at) AND least(
    coalesce(m.given_expiry, CASE WHEN NOT m.pinned
        THEN m.last_seen_at + make_interval(secs => CAST(:default AS double precision)) END),
    m.last_seen_at + make_interval(secs => CAST(:maximum AS double precision))
) <= now() AND NOT is_held(m)
"""
_APPLY: Final = """
SELECT last_id, changed FROM apply_retention(:namespace, CAST(:after AS uuid), CAST(:limit AS integer))
"""
_REMOVE: Final = "SELECT remove_expired(CAST(:limit AS integer)) AS removed"


class Retention(OwnerStore):
    """Lists, sets and applies the lifetimes of memories, for the operator."""

    def every(self) -> Sequence[NamespaceRetention]:
        """List the namespaces with their own lifetimes, and the namespaces with memories that will expire.

        The list is sorted by name. The lifetimes of the namespace '' apply to all namespaces without their own
        lifetimes.
        """
        return [NamespaceRetention(**row.by_name) for row in self._run(_LIST)]

    def lifetimes(self, namespace: str) -> tuple[int | None, int | None]:
        """Return the default and the maximum lifetime that apply to a namespace, in seconds."""
        rows = self._run(_CURRENT, namespace=namespace)
        return (rows[0]["default"], rows[0]["maximum"]) if rows else (None, None)

    def set(self, namespace: str, lifetimes: Mapping[str, int | None]) -> Mapping[str, int | None]:
        """Set the `default` lifetime of a namespace, the `maximum`, or both, and return both lifetimes.

        A missing lifetime does not change. The empty name means all namespaces without their own lifetimes.
        """
        values = {name: lifetimes.get(name) for name in ("default", "maximum")}
        flags = {f"with_{name}": name in lifetimes for name in values}
        return self._one(_SET, namespace=namespace, **values, **flags).by_name

    def clear(self, namespace: str) -> bool:
        """Remove the lifetimes of a namespace, and return whether the namespace had its own lifetimes.

        Afterwards the lifetimes of the namespace '' apply to this namespace.
        """
        return bool(self._run(_CLEAR, namespace=namespace))

    def count_expired(self, namespace: str, default: int | None, maximum: int | None) -> int:
        """Return the number of stored memories that would expire at once with these lifetimes."""
        with closing(self._open()) as connection:
            return sum(
                connection.one(_EXPIRED_BY, namespace=affected, default=default, maximum=maximum)["memories"]
                for affected in _affected_namespaces(connection, namespace)
            )

    def apply(self, namespace: str, after: RetentionCursor | None = None) -> AppliedRetention:
        """Compute the expiry of a batch of stored memories again, after the lifetimes of their namespace have changed.

        Continue after the position `after`. The result has the position for the next call.
        """
        with closing(self._open()) as connection:
            namespaces = _affected_namespaces(connection, namespace)
            if after is not None:
                namespaces = [name for name in namespaces if name >= after.namespace]
            if not namespaces:
                return AppliedRetention(changed=0)
            first = namespaces[0]
            last_id = after.memory_id if after is not None and after.namespace == first else None
            row = connection.one(_APPLY, namespace=first, after=last_id, limit=APPLIED_AT_ONCE)
        next_cursor = None
        if row["last_id"] is not None:
            next_cursor = RetentionCursor(namespace=first, memory_id=row["last_id"])
        elif len(namespaces) > 1:
            next_cursor = RetentionCursor(namespace=namespaces[1])
        return AppliedRetention(changed=row["changed"], after=next_cursor)

    def remove_expired(self) -> int:
        """Remove a batch of expired memories of all namespaces in one transaction.

        Returns the number of removed memories. After a statement timeout, the method tries again with a smaller batch.
        A timeout happens, for example, if the memories were changed often, because their stored earlier states are
        removed, too.
        """
        return smaller_on_timeout(lambda limit: int(self._one(_REMOVE, limit=limit)["removed"]), REMOVED_AT_ONCE)

    def remove_all_expired(
        self, pause: Callable[[float], None] = time.sleep, clock: Callable[[], float] = time.monotonic
    ) -> Iterator[int]:
        """Remove batches of expired memories until none is left, and yield the size of each batch.

        After each batch, pause for as long as the batch took, so that searches get at least half of the processor time.
        """
        began = clock()
        while count := self.remove_expired():
            yield count
            pause(clock() - began)
            began = clock()


def _affected_namespaces(connection: Connection, namespace: str) -> list[str]:
    return [row["namespace"] for row in connection.run(_NAMESPACES, namespace=namespace)]
