"""Malicious requests must not block the event loop, use up the memory, or delay the requests of other callers."""

import json
import threading
import time
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from starlette.responses import Response

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.http.mcp import batch
from mnemosyne.http.mcp.concurrency import ConcurrencyLimits
from mnemosyne.http.mcp.middleware import McpMiddleware
from mnemosyne.http.mcp.request_headers import HEADER_BYTES
from mnemosyne.mcp import jsonrpc
from tests.abuse.conftest import headers
from tests.fakes import request
from tests.mcp_app import LIST
from tests.mcp_client import tool_call
from tests.memories import store, store_contents


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * 1_390_000 + b"[]]",
        b'[{"":' * 10 + b"[" + b"0," * 2_000_000 + b"0]" + b"}]" * 10,
        b"[" + b'"",' * 1_390_000 + b'""]',
        b'{"' + b'a":1,"' * 690_000 + b'":1}',
    ],
    ids=["arrays", "numbers", "strings", "members"],
)
def test_a_body_of_4_mib_of_small_json_values_is_refused_before_parsing(
    opened: Any, services: Any, body: bytes
) -> None:
    assert len(body) <= 4 * 2**20
    before = time.thread_time()
    with pytest.raises(Exception, match="at most 20,000 values"):
        jsonrpc.read(body)
    spent = time.thread_time() - before
    built = time.thread_time()
    json.loads(body)
    assert spent < time.thread_time() - built  # less time than parsing would need
    response = opened(services).post("/mcp", content=body, headers=headers())
    assert response.status_code == 400
    assert "at most 20,000 values" in response.text


def test_brackets_and_commas_inside_strings_are_not_counted_as_values(opened: Any, services: Any) -> None:
    prose = 'He said: "yes, [no], {maybe}", \\ and so on, ' * 2_000
    memories = [{"content": f"{n} {prose}"[:99_000], "timestamp": "2026-05-20T12:00:00Z"} for n in range(30)]
    response = opened(services, per_minute=0).post(
        "/mcp", json=tool_call("ingest_memories", {"memories": memories}), headers=headers()
    )
    assert response.json()["result"]["structuredContent"]["status"] == "queued"


@pytest.mark.usefixtures("clock")
def test_a_malformed_request_is_charged_like_a_valid_one(opened: Any, services: Any) -> None:
    client = opened(services, per_minute=3)
    statuses = [client.post("/mcp", content=b"{", headers=headers()).status_code for _ in range(5)]
    assert statuses == [400, 400, 400, 429, 429]
    assert client.post("/mcp", json=LIST, headers=headers("bob")).status_code == 200


def test_an_error_names_five_problems_and_the_number_of_others(opened: Any, services: Any) -> None:
    arguments = {f"unknown{n}": n for n in range(15_000)} | {"x" * 100_000: 1}
    response = opened(services).post("/mcp", json=tool_call("memory_search", arguments), headers=headers())
    text = response.json()["result"]["content"][0]["text"]
    assert "and 14,996 more" in text
    assert len(response.content) < 10_000


@pytest.mark.parametrize("name", ["memory_search", "retrieve_memories", "debug_retrieve"])
def test_an_answer_has_at_most_9_000_characters_of_stored_text_by_default(
    opened: Any, services: Any, name: str
) -> None:
    store_contents(services.memories_of("ada"), *(f"a {n} {'b ' * 1_000}" for n in range(10)), "a short one")
    limit = {"n_results": 20} if name == "debug_retrieve" else {"limit": 20}
    response = opened(services).post("/mcp", json=tool_call(name, {"query": "a b", **limit}), headers=headers())
    result = response.json()["result"]["structuredContent"]
    assert result["total"] == 11
    assert sum(len(memory["content"]) for memory in result["memories"]) <= 9_000
    assert "10 of 11 memories were cut to fit 9,000 characters" in result["truncated"]
    assert "a short one" in [memory["content"] for memory in result["memories"]]


BY_DEFAULT: dict[str, dict[str, Any]] = {
    "memory_search": {"query": "a b"}, "retrieve_memories": {"query": "a b"}, "list_memories": {}, "memory_stats": {},
    "update_memory": {"tags": ["x"]},
}  # fmt: skip


@pytest.mark.parametrize("filler", ['"\\', "\x01"])
def test_a_default_answer_has_at_most_25_000_characters_whatever_is_stored(
    opened: Any, services: Any, filler: str
) -> None:
    """The test counts the characters that a model gets: the blocks of text, and the structured content as JSON."""
    outcomes = store(services.memories_of("ada"), *(_large(n, filler) for n in range(10)))
    changed = {"id": str(next(iter(outcomes.values())).memory_id)}
    system = opened(services)
    for name, arguments in BY_DEFAULT.items():
        tool_arguments = arguments | (changed if name == "update_memory" else {})
        answer = system.post("/mcp", json=tool_call(name, tool_arguments), headers=headers()).json()["result"]
        assert not answer["isError"], answer
        texts = "".join(block["text"] for block in answer["content"])
        assert len(texts) + len(json.dumps(answer["structuredContent"], ensure_ascii=False)) <= 25_000, name


def _large(n: int, filler: str) -> Any:
    """A memory whose content exceeds the limit of an answer, with the maximum size of each other field."""
    return request(
        f"a {n} {filler * (12_000 // len(filler))}",
        title=f"{n} {'title ' * 80}",
        tags=tuple(f"{n} {tag} {'tag ' * 20}".strip() for tag in range(50)),
        session=f"{n} {'session ' * 20}".strip(),
        metadata={"key": "v" * 60_000},
    )


def test_metadata_counts_towards_the_limit_and_is_complete_or_omitted(opened: Any, services: Any) -> None:
    large = {"key": "v" * 60_000}
    store(services.memories_of("ada"), request("tea one", metadata=large), request("tea two", metadata={"k": 1}))
    body = tool_call("memory_search", {"query": "tea", "max_response_chars": 1_000})
    result = opened(services).post("/mcp", json=body, headers=headers()).json()["result"]["structuredContent"]
    assert {memory["content"]: memory["metadata"] for memory in result["memories"]} == {
        "tea one": {},
        "tea two": {"k": 1},
    }
    assert [memory.get("truncated") for memory in result["memories"] if memory["content"] == "tea one"] == [True]


def test_the_answer_to_a_batch_is_bounded_and_names_what_it_omits(
    opened: Any, services: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "ANSWER_BYTES", 200_000)
    store_contents(services.memories_of("ada"), *(f"a {n} {'b ' * 4_500}" for n in range(8)))
    search = tool_call("memory_search", {"query": "a", "mode": "exact", "limit": 100, "max_response_chars": 400_000})
    response = opened(services, per_minute=0).post(
        "/mcp", json=[search] * 30, headers=headers(**{"MCP-Protocol-Version": "2025-03-26"})
    )
    answers = response.json()
    assert len(response.content) < 2 * batch.ANSWER_BYTES
    assert "result" in answers[0]
    assert "send this request separately" in answers[-1]["error"]["message"]


def test_a_batch_is_stopped_after_its_client_disconnects(
    app_of: Any, services: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []
    third = threading.Event()
    find = MemoryStore.find_candidates

    def slow(*arguments: Any, **more: Any) -> Any:
        searched.append("one")
        if len(searched) == 3:
            third.set()
        time.sleep(0.02)  # the duration of a slow search
        return find(*arguments, **more)

    monkeypatch.setattr(MemoryStore, "find_candidates", slow)
    body = json.dumps([tool_call("memory_search", {"query": "tea"})] * 50).encode()

    async def send_and_leave() -> None:
        app = app_of(services, per_minute=0)
        is_sent = False

        async def receive() -> dict[str, Any]:
            nonlocal is_sent
            if not is_sent:
                is_sent = True
                return {"type": "http.request", "body": body, "more_body": False}
            await anyio.to_thread.run_sync(third.wait)
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            raise AssertionError("nobody is there to be answered")

        scope = _scope(headers(**{"MCP-Protocol-Version": "2025-03-26", "Host": "testserver"}))
        async with app.router.lifespan_context(app):
            with anyio.fail_after(30):
                await app(scope, receive, send)

    anyio.run(send_and_leave)
    assert 3 <= len(searched) < 10


def _scope(request_headers: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/mcp", "raw_path": b"/mcp", "query_string": b"", "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in request_headers.items()],
        "client": ("192.0.2.1", 1234), "server": ("testserver", 80),
    }  # fmt: skip


def test_a_slow_body_without_a_credential_does_not_occupy_a_request_slot(app_of: Any, services: Any) -> None:
    reached = False

    async def app_behind(scope: Any, receive: Any, send: Any) -> None:
        nonlocal reached
        reached = True

    async def drip() -> list[Any]:
        app = app_of(services)
        edge = next(middleware for middleware in app.user_middleware if middleware.cls is McpMiddleware)
        messages: list[Any] = []

        async def receive() -> dict[str, Any]:
            await anyio.sleep(0.1)
            return {"type": "http.request", "body": b" ", "more_body": True}

        async def send(message: Any) -> None:
            messages.append(message)

        scope = _scope({"Content-Type": "application/json", "Host": "testserver"})
        with anyio.fail_after(2):  # the limit for callers without a credential
            await McpMiddleware(app_behind, **edge.kwargs | {"transport": app_behind})(scope, receive, send)
        return messages

    assert anyio.run(drip)[0]["status"] == 401
    assert not reached


def test_the_size_of_headers_is_limited(opened: Any, services: Any) -> None:
    response = opened(services).post("/mcp", json=LIST, headers=headers(**{"X-Long": "x" * HEADER_BYTES}))
    assert response.status_code == 431
    assert "at most 32,768 bytes" in response.text


def test_trailers_are_rejected(opened: Any, services: Any) -> None:
    response = opened(services).post("/mcp", json=LIST, headers=headers(Trailer="Authorization"))
    assert response.status_code == 400
    assert "trailers are not supported" in response.text


def test_headers_that_are_added_during_the_body_are_treated_as_trailers(app_of: Any, services: Any) -> None:
    """Uvicorn's parser appends trailers (headers after the body) to the list of headers while the body is read."""

    async def send_with_trailers() -> int:
        scope = _scope(headers(Host="testserver"))
        statuses: list[int] = []

        async def receive() -> dict[str, Any]:
            scope["headers"].append((b"authorization", b"Bearer bob"))
            return {"type": "http.request", "body": json.dumps(LIST).encode(), "more_body": False}

        async def send(message: Any) -> None:
            statuses.append(message.get("status", 0))

        app = app_of(services)
        async with app.router.lifespan_context(app):
            await app(scope, receive, send)
        return statuses[0]

    assert anyio.run(send_with_trailers) == 400


@pytest.mark.parametrize("name", ["Content-Type", "Host", "Origin", "MCP-Protocol-Version"])
def test_a_repeated_header_that_must_be_single_is_refused(opened: Any, services: Any, name: str) -> None:
    duplicated_headers = [*headers(Host="testserver").items(), (name, "one"), (name, "two")]
    response = opened(services).post("/mcp", content=json.dumps(LIST), headers=duplicated_headers)
    assert response.status_code == 400
    assert "must be sent once" in response.text


@pytest.mark.parametrize("host", ["localhost:9717@evil.example", "localhost:x", "localhost:80:90", "localhost:"])
def test_a_host_header_followed_by_anything_but_a_port_is_refused(opened: Any, services: Any, host: str) -> None:
    assert opened(services).post("/mcp", json=LIST, headers=headers(Host=host)).status_code == 421
    assert opened(services).post("/mcp", json=LIST, headers=headers(Host="localhost:9717")).status_code == 200


def test_requests_of_a_principal_beyond_its_running_and_waiting_limits_are_refused(app_of: Any, services: Any) -> None:
    begun, refused, release = anyio.Event(), anyio.Event(), anyio.Event()
    statuses: list[int] = []

    async def call_many() -> int:
        app = app_of(services)
        (edge,) = [middleware for middleware in app.user_middleware if middleware.cls is McpMiddleware]
        access = edge.kwargs["access"]
        access.concurrency = ConcurrencyLimits(seconds=3600)
        at_once = access.concurrency.at_once + access.concurrency.waiting

        class Slow:
            async def answer(self, posted: Any, headers: Any) -> Response:
                begun.set()
                await release.wait()
                return Response()

        transport = httpx.ASGITransport(McpMiddleware(app, **edge.kwargs | {"exchanges": Slow()}))
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:

            async def post(token: str) -> None:
                response = await client.post("/mcp", json=LIST, headers=headers(token))
                statuses.append(response.status_code)
                if statuses.count(429) == 5:
                    refused.set()

            async with anyio.create_task_group() as group:
                for _ in range(at_once + 5):
                    group.start_soon(post, "ada")
                await begun.wait()
                await refused.wait()
                group.start_soon(post, "bob")
                await anyio.lowlevel.checkpoint()
                release.set()
        return int(at_once)

    at_once = anyio.run(call_many)
    assert sorted(statuses) == [200] * (at_once + 1) + [429] * 5
