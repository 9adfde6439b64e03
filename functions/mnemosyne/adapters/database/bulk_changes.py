"""Changes of several memories in one transaction."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from mnemosyne.adapters.database import memories_sql
from mnemosyne.adapters.database.memory_database import NamespaceStore, usage
from mnemosyne.adapters.database.rows import text_array, uuid_array
from mnemosyne.adapters.database.server_errors import smaller_on_timeout
from mnemosyne.adapters.database.statements import Row
from mnemosyne.domain.chronicle import TAG_COUNT, tag_key
from mnemosyne.domain.memory_changes import ChangedTag, ChangedTags, DeletedMemories
from mnemosyne.domain.quota import Quota
from mnemosyne.errors import InvalidRequest, OverQuota

TAGGED_IN_A_STATEMENT = 10
"""Maximum number of memories whose tags one statement changes. The number is low, because PostgreSQL indexes each
changed memory again, which takes long for a long memory."""


class BulkChanges(NamespaceStore):
    """The methods of MemoryStore that change several memories at once."""

    def delete_many(self, memory_ids: Sequence[UUID]) -> DeletedMemories:
        """Delete memories in one transaction. Unknown ids are ignored.

        Older memories that the deleted memories superseded (replaced) do not become current again.
        """
        ids = uuid_array(memory_ids)
        with self._transaction() as connection:
            connection.run(memories_sql.LOCK_SUPERSESSION, namespace=self.namespace)
            for row in connection.run(memories_sql.SUPERSEDING, namespace=self.namespace, ids=ids):
                connection.run(memories_sql.RELINK_SUPERSEDED, namespace=self.namespace, id=row["id"])
            deleted_ids = [
                row["id"] for row in connection.run(memories_sql.DELETE_MANY, namespace=self.namespace, ids=ids)
            ]
            superseded_rows = connection.run(
                memories_sql.STILL_SUPERSEDED, namespace=self.namespace, ids=uuid_array(deleted_ids)
            )
            self._record_action(connection, deleted_ids)
        self.database.discard_quota(self.namespace)
        return DeletedMemories(ids=tuple(deleted_ids), superseded=tuple(row["id"] for row in superseded_rows))

    def change_tags(self, memory_ids: Sequence[UUID], *, added: Sequence[str], removed: Sequence[str]) -> ChangedTags:
        """Add and remove tags of memories in one transaction.

        Raises InvalidRequest if a memory would have more than TAG_COUNT tags, and OverQuota if the added tags would
        enlarge the memories beyond the quota in bytes. After an error, no memory is changed.
        """
        with self._transaction() as connection:
            before = usage(connection)
            changed_rows: list[Row] = []
            ids = sorted(memory_ids)
            for start in range(0, len(ids), TAGGED_IN_A_STATEMENT):
                changed_rows += connection.run(
                    memories_sql.CHANGE_TAGS,
                    namespace=self.namespace,
                    ids=uuid_array(ids[start : start + TAGGED_IN_A_STATEMENT]),
                    added=text_array(added),
                    added_keys=text_array([tag_key(tag) for tag in added]),
                    removed_keys=text_array([tag_key(tag) for tag in removed]),
                )
            for row in changed_rows:
                if row["tags"] > TAG_COUNT:
                    raise InvalidRequest(
                        f"add_tags must leave at most {TAG_COUNT} tags, and memory {row['id']} would have "
                        f"{row['tags']}; nothing was changed"
                    )
            check_growth(before, usage(connection))
            self._record_action(connection, [row["id"] for row in changed_rows])
        return ChangedTags(
            found=[row["id"] for row in changed_rows], changed=sum(row["changed"] for row in changed_rows)
        )

    def change_tag(self, tag: str, new_tag: str | None, limit: int) -> ChangedTag:
        """Replace a tag with another tag, or remove it if `new_tag` is None, in at most `limit` memories.

        After a statement timeout, the method tries again with a tenth of the memories, down to a single memory. Raises
        OverQuota if the new tag would enlarge the memories beyond the quota in bytes.
        """
        return smaller_on_timeout(lambda count: self._change_tag(tag, new_tag, count), limit)

    def _change_tag(self, tag: str, new_tag: str | None, limit: int) -> ChangedTag:
        with self._transaction() as connection:
            before = usage(connection)
            row = connection.one(
                memories_sql.CHANGE_TAG,
                namespace=self.namespace,
                tag_key=tag_key(tag),
                new_tag=new_tag,
                new_key=None if new_tag is None else tag_key(new_tag),
                limit=limit,
            )
            check_growth(before, usage(connection))
            self._record_action(connection, [], count=row["changed"])
        return ChangedTag(**row.by_name)


def check_growth(before: Quota, after: Quota) -> None:
    """Raise OverQuota if a change has enlarged the memories beyond the quota in bytes.

    A change that does not enlarge the memories is allowed, even if they already exceed the quota.
    """
    growth = after.bytes - before.bytes
    if growth > 0 and before.exceeds_bytes(growth):
        raise OverQuota(f"{before.refusal(datetime.now(UTC), memories=0, size=growth, texts=0)}; nothing was changed")
