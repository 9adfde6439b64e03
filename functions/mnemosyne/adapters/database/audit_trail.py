"""Record the accesses of a process in PostgreSQL, in the background.

This module does not import the driver, so that a new instance answers its first requests before the driver is loaded.
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
"""How long an event waits for others, so that many are recorded by one statement."""
BATCH = 500
WAITING = 10_000
"""Most events that wait while the database does not respond. Further events are lost, and the log says so."""

RECORD_ACCESSES: Final = "SELECT record_audit(CAST(:events AS jsonb), CAST(:used AS jsonb))"


class AuditTrail:
    """Records the accesses of this process, in batches and off their paths.

    `reads` is the share of reads that are recorded; changes always are. Each credential's last use is recorded too.
    """

    def __init__(self, pool: "Callable[[], Pool]", *, reads: float = 1.0) -> None:
        self._pool = pool
        self._reads = reads
        self._events: list[dict[str, Any]] = []
        self._used: dict[str, str] = {}
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self) -> None:
        """Record the events of this process from now on, and the last ones before it ends."""
        listen(self.hear, self.flush)

    def hear(self, event: str, fields: Mapping[str, Any]) -> None:
        """Take an event of the log, if it is an access."""
        taken = fields if event == ACCESS else _of_authorization(fields) if event == "audit" else None
        if taken is not None:
            self.record(taken)

    def record(self, fields: Mapping[str, Any]) -> None:
        """Take an event, to be recorded soon. `recorded` events have been recorded, and only count as a use."""
        now = datetime.now(UTC).isoformat()
        skipped = fields.get("recorded") or (fields.get("is_read") and random.random() >= self._reads)  # noqa: S311
        with self._lock:
            if fields["credential"]:
                self._used[fields["credential"]] = now
            if not skipped and len(self._events) < WAITING:
                self._events.append(row_of(fields, now))
                skipped = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._write, name="audit", daemon=True)
                self._thread.start()
        self._wake.set()
        if not skipped:
            log.error(
                "audit_lost",
                action=fields["action"],
                principal=fields["principal"],
                cause="the database does not respond, and too many events of the audit trail wait",
                error=f"{WAITING:,} events wait",
                next_step="see `audit_postponed`; the log event `audit` has the lost changes",
            )

    def flush(self) -> None:
        """Record all events that wait; one attempt."""
        with self._writing:
            while True:
                with self._lock:
                    events, used = self._events[:BATCH], self._used
                    self._used = {}
                if not events and not used:
                    return
                try:
                    with self._pool().connection() as connection:
                        connection.run(RECORD_ACCESSES, events=_json(events), used=_json(used))
                except ServiceError as exc:
                    with self._lock:
                        self._used = used | self._used
                    log.warning("audit_postponed", **fault_fields(exc), waiting=len(self._events))
                    return
                with self._lock:
                    del self._events[: len(events)]

    def _write(self) -> None:
        pause = threading.Event()
        while True:
            self._wake.wait()
            self._wake.clear()
            pause.wait(FLUSH_SECONDS)
            try:
                self.flush()
            except Exception:  # a bug must not end the thread, because then no event would be recorded
                log.exception("audit_crashed")


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def row_of(fields: Mapping[str, Any], at: str) -> dict[str, Any]:
    """Return the row of an access, for RECORD_ACCESSES."""
    ids = fields.get("ids") or []
    return {
        "at": at,
        **{name: fields.get(name) or "" for name in ("principal", "credential", "client", "namespace", "action")},
        "outcome": fields.get("outcome") or "done",
        "ids": [str(id_).replace("\x00", "")[:200] for id_ in ids[:IDS]],
        "count": fields.get("count") if isinstance(fields.get("count"), int) else len(ids),
    }


def _of_authorization(fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the access of a log event of the authorization server; None if it names neither person nor grant.

    Strangers cause the events without a person, so these are only logged: they would fill the table.
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
