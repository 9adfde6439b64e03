"""Record the accesses that a process handles. A background thread writes them to the audit trail in PostgreSQL.

This module does not import the database driver. Therefore a new instance can answer its first requests before the
driver is loaded.
"""

import random
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import orjson

from mnemosyne.domain.audit import ACCESS, IDS
from mnemosyne.errors import ServiceError
from mnemosyne.observability import EventLog, fault_fields, listen

if TYPE_CHECKING:
    from mnemosyne.adapters.database.pool import Pool

log = EventLog(__name__)

FLUSH_SECONDS = 1.0
"""Seconds for which an event waits for further events, so that one statement records many events."""
BATCH = 500
WAITING = 10_000
"""Maximum number of events that wait while the database does not respond. Further events are dropped and logged."""

RECORD_ACCESSES: Final = "SELECT record_audit(CAST(:events AS jsonb), CAST(:used AS jsonb))"


class AuditTrail:
    """Records accesses in batches, so that no access waits for the audit trail.

    An access is a call of a tool, or an action of the authorization server. `reads` is the share of calls of read-only
    tools that are recorded, from 0.0 (none) to 1.0 (all). All other accesses are recorded. The time at which each
    credential was last used is recorded too.
    """

    def __init__(self, pool: "Callable[[], Pool]", *, reads: float = 1.0) -> None:
        self._pool = pool
        self._reads = reads
        self._events: list[dict[str, Any]] = []
        self._last_used: dict[str, str] = {}
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Record the events of this process from now on. When the process ends, the waiting events are recorded."""
        listen(self.on_event, self.flush)

    def on_event(self, event: str, fields: Mapping[str, Any]) -> None:
        """Queue a log event for the audit trail, if the event is an access."""
        access = fields if event == ACCESS else _authorization_access(fields) if event == "audit" else None
        if access is not None:
            self.record(access)

    def record(self, fields: Mapping[str, Any]) -> None:
        """Queue an access for the audit trail.

        If `fields["recorded"]` is true, the access is in the audit trail already. Then only the time of the last use
        of the credential is recorded.
        """
        now = datetime.now(UTC).isoformat()
        is_handled = fields.get("recorded") or (fields.get("is_read") and random.random() >= self._reads)  # noqa: S311
        with self._lock:
            if fields["credential"]:
                self._last_used[fields["credential"]] = now
            if not is_handled and len(self._events) < WAITING:
                self._events.append(row_of(fields, now))
                is_handled = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._flush_forever, name="audit", daemon=True)
                self._thread.start()
        self._wake.set()
        if not is_handled:
            log.error(
                "audit_lost",
                action=fields["action"],
                principal=fields["principal"],
                cause="the database does not respond, and too many events of the audit trail wait",
                error=f"{WAITING:,} events wait",
                next_step="see `audit_postponed`; the log event `audit` has the lost changes",
            )

    def flush(self) -> None:
        """Record all waiting events. If the database fails, stop after one attempt and keep the events."""
        with self._writing:
            while True:
                with self._lock:
                    events, last_used = self._events[:BATCH], self._last_used
                    self._last_used = {}
                if not events and not last_used:
                    return
                try:
                    with self._pool().connection() as connection:
                        connection.run(RECORD_ACCESSES, events=_to_json(events), used=_to_json(last_used))
                except ServiceError as exc:
                    # The database may have recorded these events, although its answer was lost. With `is_repeated`, the
                    # next attempt does not record such an event again.
                    for event in events:
                        event["is_repeated"] = True
                    with self._lock:
                        self._last_used = last_used | self._last_used
                    log.warning("audit_postponed", **fault_fields(exc), waiting=len(self._events))
                    return
                with self._lock:
                    del self._events[: len(events)]

    def _flush_forever(self) -> None:
        pause = threading.Event()
        while True:
            self._wake.wait()
            self._wake.clear()
            pause.wait(FLUSH_SECONDS)
            try:
                self.flush()
            except Exception:  # an uncaught error would end the thread, and no further event would be recorded
                log.exception("audit_crashed")


def _to_json(value: object) -> str:
    return orjson.dumps(value).decode()


def row_of(fields: Mapping[str, Any], at: str) -> dict[str, Any]:
    """Convert an access to a row of the audit trail: a dict from column names to values."""
    ids = fields.get("ids") or []
    return {
        "at": at,
        **{name: fields.get(name) or "" for name in ("principal", "credential", "client", "namespace", "action")},
        "outcome": fields.get("outcome") or "done",
        "ids": [str(id_).replace("\x00", "")[:200] for id_ in ids[:IDS]],
        "count": fields.get("count") if isinstance(fields.get("count"), int) else len(ids),
    }


def _authorization_access(fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the access that a log event of the authorization server describes.

    The result is None if the event names neither a person nor a grant. Unauthenticated callers can cause any number of
    such events, so these events are logged but not recorded in the audit trail. The result is also None if the event
    has a principal, because such an event is not from the authorization server.
    """
    subject, grant = fields.get("subject"), fields.get("grant")
    if (not subject and not grant) or "principal" in fields:
        return None
    return {
        "principal": f"oauth:{subject}" if subject else "",
        "credential": f"grant:{grant}" if grant else "",
        "client": fields.get("client") or "",
        "action": fields["action"],
        "outcome": fields["outcome"],
        "ids": [grant] if grant else [],
    }
