"""Record an action in the audit trail, in the same transaction as the change that the action made."""

from collections.abc import Sequence
from typing import Final

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.rows import text_array
from mnemosyne.domain.audit import IDS, Action

_INSERT: Final = """
INSERT INTO audit_events (principal, credential, client, namespace, action, outcome, ids, count)
VALUES (:principal, :credential, :client, :namespace, :action, 'done', CAST(:ids AS text[]), :count)
"""


def record_action(
    connection: Connection, namespace: str, action: Action | None, ids: Sequence[object], count: int
) -> None:
    """Record the current action in the audit trail, in the transaction of its change. Without an action, do nothing."""
    if action is None:
        return
    connection.run(_INSERT, **action.columns, namespace=namespace, ids=text_array([*map(str, ids[:IDS])]), count=count)
    action.recorded = True
