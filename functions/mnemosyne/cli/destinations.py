"""Where `mnemosyne import` sends memories: to the topic, or to a server's tools."""

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from mnemosyne.app.container import ConfiguredServices
from mnemosyne.cli.import_source import Outcome, Record, Source
from mnemosyne.cli.tool_client import ToolClient
from mnemosyne.domain.memory import FailedRequest, IngestRequest, IngestState
from mnemosyne.domain.memory_changes import NO_TAGS, MemoryChange
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.provenance import Publisher
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.errors import Unavailable
from mnemosyne.ids import issue_request_id, new_id

PAUSE_SECONDS = 0.1
NAME_CHARACTERS = ERROR_CHARACTERS = 1_000
"""Of a file's name and an error, as `import_memories` takes them."""
Outcomes = Mapping[UUID, Outcome]


class _Pausing:
    """Waits a moment between two questions."""

    def __init__(self) -> None:
        self._never = threading.Event()

    def pause(self, seconds: float = PAUSE_SECONDS) -> None:
        """Wait a moment before asking again."""
        self._never.wait(seconds)


class OverPubSub(_Pausing):
    """Publish to the topic and read outcomes from the database."""

    def __init__(self, services: ConfiguredServices, namespace: str) -> None:
        super().__init__()
        self._services = services
        self._namespace = namespace
        settings = services.settings
        database = settings.database_url or f"{settings.instance_connection_name} {settings.db_name}"
        self.name = f"{settings.topic} {database} {namespace}"

    @property
    def namespace(self) -> str:
        """Where the records go."""
        return self._namespace

    def new_id(self) -> UUID:
        """Return the id of a request without a name."""
        return issue_request_id(self._namespace)

    def send(self, records: Sequence[Record], source: Source) -> None:
        """Publish the records as one message, refused ones with their reasons."""
        lines = [record.item.line for record in records]
        publisher = Publisher(client="command line", import_name=source.name, lines=lines)
        self._services.queue.publish(self._namespace, [record.reading for record in records], publisher)

    def outcomes(self, request_ids: Sequence[UUID]) -> Outcomes:
        """State, memory and error of each request that is known; while the database is away, none is."""
        try:
            statuses = self._services.memories_of(self._namespace).statuses(request_ids)
        except Unavailable:
            return {}
        return {
            status.request_id: Outcome(
                status.state, status.memory_id, status.error, rfc3339(status.updated_at), status.note
            )
            for status in statuses.values()
        }

    def change(self, memory_id: UUID, change: MemoryChange) -> None:
        """Change labels of a stored memory."""
        self._services.memories_of(self._namespace).update(memory_id, change)


class OverMcp(_Pausing):
    """Call the server's tools, with a token that must be good for reading too."""

    def __init__(self, url: str, place: str = "") -> None:
        """Check that the server accepts the token. `place` identifies a system whose URL changes."""
        super().__init__()
        self._client = ToolClient(url)
        self.name = f"{place or url} {hashlib.sha256(self._client.token.encode()).hexdigest()}"  # the token decides
        self.call("ingest_status", {"request_id": str(new_id())})  # refused now, and not once something is sent

    namespace = None

    def new_id(self) -> UUID:
        """Return the id of a request without a name."""
        return new_id()

    def send(self, records: Sequence[Record], source: Source) -> None:
        """Send the records in one call: good ones as JSON lines, refused ones with their reasons."""
        lines = [_line(record) for record in records if not isinstance(record.reading, FailedRequest)]
        refused = [_refusal(record.reading) for record in records if isinstance(record.reading, FailedRequest)]
        arguments: dict[str, Any] = {"name": source.name[-NAME_CHARACTERS:], "format": "jsonl", "text": "".join(lines)}
        if refused:
            arguments["refused"] = refused
        if source.timezone != "UTC":
            arguments["timezone"] = source.timezone
        if source.modified:
            arguments["modified"] = rfc3339(source.modified)
        self.call("import_memories", arguments)

    def outcomes(self, request_ids: Sequence[UUID]) -> Outcomes:
        """State, memory and error of each request that is known; while the server cannot tell, none is."""
        try:
            answer = self.call("ingest_status", {"request_ids": [str(request_id) for request_id in request_ids]})
        except Unavailable:
            return {}
        return {
            UUID(request["request_id"]): Outcome(
                IngestState(request["state"]),
                UUID(request["memory_id"]) if request["memory_id"] else None,
                request["error"],
                request["updated_at"],
                request.get("note"),
            )
            for request in answer["requests"]
            if request["state"] != IngestState.UNKNOWN  # the server has not seen it yet, or it was never sent
        }

    def change(self, memory_id: UUID, change: MemoryChange) -> None:
        """Change labels of a stored memory."""
        arguments: dict[str, Any] = {"id": str(memory_id)}
        if change.superseded_by is not None:
            arguments["superseded_by"] = str(change.superseded_by)
        if change.tags is not None:
            arguments["tags"] = list(change.tags) or [NO_TAGS]
        self.call("update_memory", arguments)

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return a tool's structured result; raises as `ToolClient.call` does."""
        return self._client.call(tool, arguments)


def _refusal(refused: FailedRequest) -> dict[str, str]:
    """Return a refused record's name, and why it is refused."""
    name = {"source": refused.external_id.source, "key": refused.external_id.key} if refused.external_id else {}
    return {"request_id": str(refused.request_id), "error": refused.error[:ERROR_CHARACTERS], **name}


def _line(record: Record) -> str:
    """Return the record as it was read, under the id of its request."""
    fields = record.item.fields or {}
    values = {name: fields[name] for name in MemoryInput.model_fields if fields.get(name) is not None}
    if record.item.path is not None and isinstance(record.reading, IngestRequest) and record.reading.external_id:
        values |= {"source": record.reading.external_id.source, "key": record.reading.external_id.key}
    return json.dumps(values | {"request_id": str(record.reading.request_id)}, ensure_ascii=False) + "\n"
