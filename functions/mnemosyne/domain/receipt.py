"""Receipts of forgettings (deletions of all selected memories with their texts). Pure.

A receipt says what a forgetting has removed, and where copies remain until when. It contains no texts of memories.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from mnemosyne.domain.forgetting import Forgetting
from mnemosyne.domain.rfc3339 import rfc3339

VERSION: Final = 1
_REMAINS: Final = (
    ("messages in Pub/Sub that are not delivered yet", timedelta(days=7), "discarded when delivered"),
    ("events in Pub/Sub, if the change feed publishes contents", timedelta(days=7), "deleted by Pub/Sub"),
    ("transaction logs of Cloud SQL, for restores to a point in time", timedelta(days=7), "deleted by Cloud SQL"),
    ("backups of Cloud SQL", timedelta(days=14), "the last of 14 daily backups is deleted"),
)
"""Places where copies may remain, and for how long at most: see database.tf and pubsub.tf in
terraform/modules/mnemosyne."""
_KEPT: Final = (
    "ids of requests and memories, and SHA-256 hashes of contents, in ingest_requests and forgotten_memories, so that "
    "no message stores the memories again; source and key of records in ingest_requests",
    "hashes of frequent words in namespace_words, until the statistics are computed again",
    "ids and counts in the audit trail, and ids in logs, without contents",
    "removed rows in unused space of the database's pages, which no query reads, until the space is used again",
    "files and journals of `mnemosyne import` and of exports, which are with their users, and objects in buckets",
    "on a local system instead of Cloud SQL: the files of PostgreSQL's pg_wal, until PostgreSQL uses them again",
)
"""Copies that a forgetting does not remove."""


def receipt_of(forgetting: Forgetting, ids_sha256: str) -> dict[str, Any]:
    """Build the receipt of a finished forgetting as JSON.

    `ids_sha256` is the SHA-256 of the ids of the forgotten memories in order, each followed by a line feed.
    """
    finished = forgetting.finished_at or forgetting.started_at
    return {
        "version": VERSION,
        "forgetting": str(forgetting.id),
        "namespace": forgetting.namespace,
        "selection": dict(forgetting.selection),
        "requested_by": forgetting.requested_by,
        "started_at": rfc3339(forgetting.started_at),
        "finished_at": rfc3339(finished),
        "memories": forgetting.memories,
        "ids_sha256": ids_sha256,
        "removed": dict(forgetting.counts),
        "remains": [_remaining(where, finished + span, then) for where, span, then in _REMAINS],
        "kept": list(_KEPT),
    }


def _remaining(where: str, until: datetime, then: str) -> Mapping[str, str]:
    return {"where": where, "until": rfc3339(until) or "", "then": then}
