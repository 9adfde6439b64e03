"""ADK's `BaseMemoryService`, implemented with the tools of a Mnemosyne server."""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from inspect import isawaitable
from typing import Any, Self, cast
from urllib.parse import urlsplit
from uuid import UUID

import anyio
from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from mnemosyne_adk.records import Scope, batches, entry_arguments, event_arguments, memory_entry, refusals, storable

REVISION = "2026-07-28"
"""Revision of MCP that this client uses. In this revision a tool call is one HTTP request, without a handshake."""
POLL_SECONDS = 0.25
"""Seconds between two calls of `ingest_status`."""

Key = str | Callable[[str, str], str | Awaitable[str]] | None


ERROR_META = "mnemosyne/error"
"""Key in the field `_meta` of a tool's error result. Its value is the code of the error."""


class MemoryServiceError(Exception):
    """Raised when a memory could not be stored, found or deleted. The message comes from the server.

    `code` is the server's code of the error, such as `not_found`. It is empty if the server did not answer. `retryable`
    is true if the same call can be repeated safely, and could then succeed.
    """

    def __init__(self, message: str, *, code: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


class MnemosyneMemoryService(BaseMemoryService):  # type: ignore[misc]  # ADK is not installed where mypy runs
    """Stores the events of ADK's sessions as memories, and finds them for the same user and app.

    A repeated call stores no event twice, because the server recognises an event by a key that is derived from the
    event's id, author and text. Users with the same API key share a namespace, but each user finds only their own
    memories. To give users separate namespaces, use API keys of different namespaces.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: Key = None,
        limit: int = 10,
        min_confidence: str | None = None,
        max_response_chars: int = 9_000,
        wait: float = 10.0,
    ) -> None:
        """Configure the server's URL, the API key and limits.

        `api_key` is the key, or a function (sync or async) that takes an app name and a user id and returns the key.
        A search returns at most `limit` memories with at most `max_response_chars` characters of contents. If
        `min_confidence` is `related` or `strong`, a search leaves out memories with a lower confidence. A call that
        stores memories waits until the server has stored or refused them, so that a later search finds them. It waits
        at most `wait` seconds; a memory that is still in the durable queue by then is stored later. If `wait` is 0, a
        call does not wait.
        """
        self._url, self._api_key = url, api_key
        self._limit, self._characters, self._wait = limit, max_response_chars, wait
        self._min_confidence = min_confidence

    @classmethod
    def from_uri(cls, uri: str, **_: Any) -> Self:
        """Build the service from `mnemosyne://host[:port]/mcp`, for ADK's registry of services.

        The API key is read from the environment variable MNEMOSYNE_API_KEY. A server on this machine (localhost) is
        called by http, and any other server by https.
        """
        at = urlsplit(uri)
        if not at.hostname:
            raise ValueError(f"uri must be mnemosyne://HOST[:PORT]/mcp, got {uri!r}")
        scheme = "http" if at.hostname in ("localhost", "127.0.0.1", "::1") else "https"
        return cls(f"{scheme}://{at.netloc}{at.path or '/mcp'}", api_key=os.environ.get("MNEMOSYNE_API_KEY"))

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the events of the session. Events that are stored already do not change.

        Raises MemoryServiceError.
        """
        scope = Scope(session.app_name, session.user_id)
        await self._store(scope, event_arguments(session.events, scope, session.id, {}))

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store the events, with `custom_metadata` as metadata. Raises MemoryServiceError."""
        scope = Scope(app_name, user_id)
        await self._store(scope, event_arguments(events, scope, session_id, custom_metadata or {}))

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store the memories. A memory without a timestamp gets the present time. Raises MemoryServiceError."""
        scope = Scope(app_name, user_id)
        await self._store(scope, entry_arguments(memories, scope, custom_metadata or {}))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Find memories of this user and app by meaning and words, best first. Raises MemoryServiceError."""
        if not query.strip():
            return SearchMemoryResponse()
        scope = Scope(app_name, user_id)
        arguments = {
            "query": storable(query)[:10_000],
            "metadata": scope.conditions,
            "limit": self._limit,
            "min_confidence": self._min_confidence,
            "max_response_chars": self._characters,
        }
        async with self._client(scope) as client:
            result = await _call(client, "memory_search", arguments)
        return SearchMemoryResponse(memories=[memory_entry(hit) for hit in result["memories"]])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Delete a memory of this user and app. If the id is unknown, or belongs to another user or app, do nothing.

        Raises MemoryServiceError.
        """
        try:
            memory_id = str(UUID(memory_id))
        except (TypeError, ValueError, AttributeError):
            return  # the id is not valid, so no memory has it
        scope = Scope(app_name, user_id)
        async with self._client(scope) as client:
            try:
                memory = await _call(client, "get_memory", {"id": memory_id})
                if scope.has(memory["metadata"]):
                    await _call(client, "delete_memory", {"id": memory_id})
            except MemoryServiceError as exc:
                if exc.code != "not_found":
                    raise

    async def _store(self, scope: Scope, memories: Iterable[dict[str, Any]]) -> None:
        async with self._client(scope) as client:
            requests = [
                (await _call(client, "ingest_memories", {"memories": batch}))["request_ids"]
                for batch in batches(memories)
            ]
            until = time.monotonic() + self._wait
            problems = [why for ids in requests for why in refusals(await _outcomes(client, ids, until))]
        if problems:
            raise MemoryServiceError("; ".join(problems))

    @asynccontextmanager
    async def _client(self, scope: Scope) -> AsyncIterator[Client]:
        """Yield a client for one operation.

        Each operation has its own client, because ADK may run the next operation in another event loop.
        """
        try:
            key = self._api_key(scope.app_name, scope.user_id) if callable(self._api_key) else self._api_key
            key = await key if isawaitable(key) else key
            headers = {"Authorization": f"Bearer {key}"} if key else None
            async with (
                create_mcp_http_client(headers=headers) as http,
                Client(streamable_http_client(self._url, http_client=http), mode=REVISION) as client,
            ):
                yield client
        except Exception as exc:
            cause = _cause(exc)
            if isinstance(cause, MemoryServiceError):
                raise cause from None
            raise MemoryServiceError(f"{self._url}: {str(cause) or type(cause).__name__}") from exc


def _cause(exc: BaseException) -> BaseException:
    """Return the first exception inside nested exception groups, or the exception itself if it is not a group."""
    while isinstance(exc, BaseExceptionGroup):
        exc = exc.exceptions[0]
    return exc


async def _call(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    if answer.is_error or answer.structured_content is None:
        error = (answer.meta or {}).get(ERROR_META) or {}
        raise MemoryServiceError(
            " ".join(getattr(block, "text", "") for block in answer.content),
            code=error.get("code", ""),
            retryable=error.get("retryable", False),
        )
    return cast(dict[str, Any], answer.structured_content)


async def _outcomes(client: Client, request_ids: Sequence[str], until: float) -> list[dict[str, Any]]:
    """Poll the outcomes of requests to store memories, and return the outcomes of the last poll.

    Stop when every request has an outcome, or when the monotonic clock reaches `until`.
    """
    outcomes: list[dict[str, Any]] = []
    while time.monotonic() < until:
        outcomes = (await _call(client, "ingest_status", {"request_ids": list(request_ids)}))["requests"]
        if all(outcome["state"] not in ("queued", "unknown") for outcome in outcomes):
            break
        await anyio.sleep(POLL_SECONDS)
    return outcomes
