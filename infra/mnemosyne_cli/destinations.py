"""Where `mnemosyne import` sends memories: to the topic, or to a server's tools."""

import hashlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from mnemosyne.domain.memory import NO_TAGS, IngestState, MemoryChange
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.errors import Unavailable
from mnemosyne.ids import issue_request_id, new_id
from mnemosyne.services import ConfiguredServices
from mnemosyne_cli.tool_client import ToolClient

PAUSE_SECONDS = 0.1
Outcomes = Mapping[UUID, tuple[IngestState, UUID | None, str | None]]


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

    def send(self, memories: Sequence[MemoryInput]) -> list[UUID]:
        """Publish them as one message; their request ids, in order."""
        requests = [memory.request(issue_request_id(self._namespace)) for memory in memories]
        self._services.queue.publish(self._namespace, requests)
        return [request.request_id for request in requests]

    def resend(self, memories: Sequence[MemoryInput], request_ids: Sequence[UUID]) -> None:
        """Publish them once more: a database made anew knows nothing of them, and twice does no harm."""
        if len(self.outcomes(request_ids)) == len(request_ids):
            return
        requests = [memory.request(request_id) for memory, request_id in zip(memories, request_ids, strict=True)]
        self._services.queue.publish(self._namespace, requests)

    def outcomes(self, request_ids: Sequence[UUID]) -> Outcomes:
        """State, memory and error of each request that is known; while the database is away, none is."""
        try:
            known = self._services.memories.statuses(self._namespace, request_ids)
        except Unavailable:
            return {}
        return {one.request_id: (one.state, one.memory_id, one.error) for one in known.values()}

    def change(self, memory_id: UUID, change: MemoryChange) -> None:
        """Change what is not content of a stored memory."""
        self._services.memories.update(self._namespace, memory_id, change)


class OverMcp(_Pausing):
    """Call the server's tools, with a token that must be good for reading too."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._client = ToolClient(url)
        self.name = f"{url} {hashlib.sha256(self._client.token.encode()).hexdigest()}"  # the token says whose memories
        self.call("ingest_status", {"request_id": str(new_id())})  # refused now, and not once something is sent

    def send(self, memories: Sequence[MemoryInput]) -> list[UUID]:
        """Hand them over in one call; their request ids, in order."""
        arguments = [memory.model_dump(mode="json", exclude_none=True) for memory in memories]
        answer = self.call("ingest_memories", {"memories": arguments})
        return [UUID(one) for one in answer["request_ids"]]

    def resend(self, memories: Sequence[MemoryInput], request_ids: Sequence[UUID]) -> None:
        """Nothing: ids are the server's to give, and it keeps what it has accepted."""

    def outcomes(self, request_ids: Sequence[UUID]) -> Outcomes:
        """State, memory and error of each request; while the server cannot tell, none is known."""
        try:
            answer = self.call("ingest_status", {"request_ids": [str(one) for one in request_ids]})
        except Unavailable:
            return {}
        return {
            UUID(one["request_id"]): (
                IngestState(one["state"]),
                UUID(one["memory_id"]) if one["memory_id"] else None,
                one["error"],
            )
            for one in answer["requests"]
        }

    def change(self, memory_id: UUID, change: MemoryChange) -> None:
        """Change what is not content of a stored memory."""
        arguments: dict[str, Any] = {"id": str(memory_id)}
        if change.superseded_by is not None:
            arguments["superseded_by"] = str(change.superseded_by)
        if change.tags is not None:
            arguments["tags"] = list(change.tags) or [NO_TAGS]
        self.call("update_memory", arguments)

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return a tool's structured result; raises as `ToolClient.call` does."""
        return self._client.call(tool, arguments)
