"""The two destinations of `mnemosyne import`: the Pub/Sub topic, and a server's tools."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from pydantic import TypeAdapter

from mnemosyne.app.container import ConfiguredServices
from mnemosyne.cli.import_source import Record, Source
from mnemosyne.cli.terminal import say
from mnemosyne.cli.tool_client import ToolClient
from mnemosyne.domain.batches import batches
from mnemosyne.domain.memory import (
    BATCH_LIMIT,
    Deletion,
    FailedRequest,
    IngestRequest,
    IngestState,
    IngestStatus,
    Request,
)
from mnemosyne.domain.memory_changes import NO_TAGS, MemoryChange, removes_tags
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.nesting import VALUES, max_values
from mnemosyne.domain.provenance import Publisher
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.errors import NotFound, Unavailable
from mnemosyne.ids import issue_request_id, new_id

PAUSE_SECONDS = 0.1
NAME_CHARACTERS = ERROR_CHARACTERS = 1_000
"""The tool `import_memories` accepts file names and error messages of up to this number of characters."""
Outcomes = Mapping[UUID, IngestStatus]
_STATUSES: Final = TypeAdapter(list[IngestStatus])


class _PollingDestination:
    """Base class of both destinations, which asks for the outcomes of requests.

    If the destination becomes unavailable after an import has sent its requests, the import does not fail. Instead, the
    import asks for the outcomes again and again, until the destination answers.
    """

    _is_waiting = False

    def _ask_if_available(self, ask: Callable[[], Outcomes]) -> Outcomes:
        """Return the outcomes that `ask` reads, or no outcomes if the system is unavailable.

        At the beginning of an outage, print a note.
        """
        try:
            outcomes = ask()
        except Unavailable as exc:
            if not self._is_waiting:
                say(f"Waiting until the outcomes can be read: {exc}. Ctrl-C stops the import.", err=True)
            self._is_waiting = True
            return {}
        self._is_waiting = False
        return outcomes

    def pause(self) -> None:
        time.sleep(PAUSE_SECONDS)


class PubSubDestination(_PollingDestination):
    """Publishes memories to the topic, and reads their outcomes from the database."""

    def __init__(self, services: ConfiguredServices, namespace: str) -> None:
        self._services = services
        self.namespace = namespace
        settings = services.settings
        database = settings.database_url or f"{settings.instance_connection_name} {settings.db_name}"
        self.name = f"{settings.topic} {database} {namespace}"

    def new_id(self) -> UUID:
        return issue_request_id(self.namespace)

    def send(self, records: Sequence[Record], source: Source) -> None:
        lines = [record.item.line for record in records]
        publisher = Publisher(client="command line", import_name=source.name, lines=lines)
        self._services.queue.publish(self.namespace, [record.reading for record in records], publisher)

    def outcomes(self, request_ids: Sequence[UUID]) -> Outcomes:
        return self._ask_if_available(lambda: self._services.memories_of(self.namespace).statuses(request_ids))

    def belongs_to(self, status: IngestStatus, reading: Request) -> bool:
        return status.belongs_to(reading)

    def change(self, memory_id: UUID, change: MemoryChange) -> None:
        self._services.memories_of(self.namespace).update(memory_id, change)


class McpDestination(_PollingDestination):
    """Sends memories by calling a server's tools.

    The token needs the scope `write` to send memories, and the scope `read` to read the outcomes of their requests.
    """

    def __init__(self, url: str, place: str = "") -> None:
        """Connect to the server, and check that it accepts the token in the environment.

        `place` is a name for a system that has another URL at each start, such as a local system. Without `place`, the
        URL identifies the system.
        """
        self._client = ToolClient(url)
        # The name of the destination contains a hash of the token, because tokens can give access to different
        # namespaces of one server.
        self.name = f"{place or url} {hashlib.sha256(self._client.token.encode()).hexdigest()}"
        self._client.call("ingest_status", {"request_id": str(new_id())})  # fails if the token is invalid

    namespace = None

    def new_id(self) -> UUID:
        return new_id()

    def send(self, records: Sequence[Record], source: Source) -> None:
        """Send valid records as JSON lines, and invalid records with their errors.

        The records are sent in one call, or in several if they have more JSON values than are allowed in one call.
        """
        lines = [_to_json_line(record) for record in records if not isinstance(record.reading, FailedRequest)]
        failures = [_failure_fields(record.reading) for record in records if isinstance(record.reading, FailedRequest)]
        arguments: dict[str, Any] = {"name": source.name[-NAME_CHARACTERS:], "format": "jsonl"}
        if source.timezone != "UTC":
            arguments["timezone"] = source.timezone
        parts = batches(lines, lambda line: max_values(line.encode()), most=BATCH_LIMIT, largest=VALUES)
        first, *others = ["".join(part) for part in parts] or [""]
        self._client.call("import_memories", arguments | {"text": first} | ({"refused": failures} if failures else {}))
        for text in others:
            self._client.call("import_memories", arguments | {"text": text})

    def outcomes(self, request_ids: Sequence[UUID]) -> Outcomes:
        return self._ask_if_available(lambda: self._request_outcomes(request_ids))

    def _request_outcomes(self, request_ids: Sequence[UUID]) -> Outcomes:
        answer = self._client.call("ingest_status", {"request_ids": [str(request_id) for request_id in request_ids]})
        return {
            status.request_id: status
            for status in _STATUSES.validate_python([_with_external_id(request) for request in answer["requests"]])
            # A request in the state UNKNOWN was never sent, or has not reached the server yet.
            if status.state is not IngestState.UNKNOWN
        }

    def belongs_to(self, status: IngestStatus, reading: Request) -> bool:
        """Whether a status belongs to this request, and not to another request with the same id.

        The content of the stored memory must be the content of the request. If the memory was deleted, its content is
        unknown, and this condition counts as fulfilled.
        """
        content = reading.content_hash if isinstance(reading, IngestRequest) else None
        if status.memory_id and status.state is not IngestState.DELETED:
            with suppress(NotFound):
                content = self._client.call("get_memory", {"id": str(status.memory_id)})["content_hash"]
        return replace(status, content_hash=content).belongs_to(reading)

    def change(self, memory_id: UUID, change: MemoryChange) -> None:
        arguments: dict[str, Any] = {"id": str(memory_id)}
        if change.superseded_by is not None:
            arguments["superseded_by"] = str(change.superseded_by)
        if change.tags is not None:
            arguments["tags"] = list(change.tags) or [NO_TAGS]
        self._client.call("update_memory", arguments)
        # If the only tag is "none", update_memory has just removed all tags instead of setting it. So add the tag.
        if change.tags and removes_tags(change.tags):
            self._client.call("update_memory", {"id": str(memory_id), "add_tags": list(change.tags)})


def _with_external_id(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add the field `external_id`, which IngestStatus needs, to a request's status from the tool `ingest_status`.

    The field has the source and key of the status. It is None if the status has no source.
    """
    has_key = request.get("source") is not None
    return {**request, "external_id": {"source": request["source"], "key": request["key"]} if has_key else None}


def _failure_fields(failure: FailedRequest) -> dict[str, str]:
    """Return the request id and error of an invalid record, and its source and key if it has them."""
    name = vars(failure.external_id) if failure.external_id else {}
    return {"request_id": str(failure.request_id), "error": failure.error[:ERROR_CHARACTERS], **name}


def _to_json_line(record: Record) -> str:
    """Return the record as a JSON line: the known fields as they were read from the file, and the request id."""
    fields = record.item.fields or {}
    values = {name: fields[name] for name in MemoryInput.model_fields if fields.get(name) is not None}
    if record.item.path is not None and isinstance(record.reading, IngestRequest) and record.reading.external_id:
        values |= vars(record.reading.external_id)
    if isinstance(record.reading, Deletion):
        # Always send the `timestamp` of a deletion. If the record has no time, `timestamp` is the modification time of
        # the file, which the server does not know.
        values["timestamp"] = rfc3339(record.reading.timestamp)
    return json.dumps(values | {"request_id": str(record.reading.request_id)}, ensure_ascii=False) + "\n"
