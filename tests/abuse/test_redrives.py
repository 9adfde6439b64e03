"""Concurrent redrives of a dead letter publish it once, by the tool or the command."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.cli import redrive as command
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.message import encode
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.errors import MnemosyneError
from mnemosyne.service import dead_letters, redrives
from tests.abuse.conftest import headers
from tests.fakes import NOW, FakeServices, request, store_of
from tests.mcp_app import CALLERS

AT_ONCE = 6
LETTERS = 5
Way = Callable[[str], Any]


@pytest.fixture
def services(memories: MemoryStore) -> FakeServices:
    """Services with five dead letters of the namespace `ada`."""
    for number in range(LETTERS):
        data, attributes = encode("ada", [request(f"Memory {number}.")], "")
        letter = DeadLetter(
            message_id=str(number), data=data, attributes=attributes, cause="a fault", dead_lettered_at=NOW
        )
        dead_letters.store_dead_letter(letter, memories=store_of(memories, "ada"))
    return FakeServices(memories)


@pytest.fixture
def ways(
    services: FakeServices, opened: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[dict[str, Way]]:
    """Each way to redrive the dead letter of a message id."""
    operator = Principal(id="ada", namespace="ada", scopes=frozenset({Scope.READ, Scope.OPERATE}))
    monkeypatch.setitem(CALLERS, "ada", operator)
    client = opened(services)

    @contextmanager
    def opened_services(data_dir: str | None, **options: Any) -> Iterator[FakeServices]:
        yield services

    monkeypatch.setattr("mnemosyne.cli.system.open_services", opened_services)

    def tool(**arguments: str) -> Any:
        params = {"name": "redrive", "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return client.post("/mcp", headers=headers(), json=body)

    def run_command(message_ids: tuple[str, ...], *, now: bool) -> Any:
        chosen = [part for id_ in message_ids for part in ("--message-id", id_)]
        options = ["--data-dir", str(tmp_path), "--namespace", "ada", *(["--now"] if now else [])]
        return command.redrive.main([*chosen, *options], standalone_mode=False)

    yield {
        "service": lambda id_: redrives.redrive(id_, memories=services.memories_of("ada"), queue=services.queue),
        "tool by id": lambda id_: tool(message_id=id_),
        "tool by cause": lambda id_: tool(cause="a fault"),
        "command by id": lambda id_: run_command((id_,), now=False),
        "command for all that are due": lambda id_: run_command((), now=False),
        "command for all": lambda id_: run_command((), now=True),
    }


WAYS = ["service", "tool by id", "tool by cause", "command by id", "command for all that are due", "command for all"]


def _at_once(calls: list[Callable[[], Any]]) -> None:
    barrier = Barrier(len(calls))

    def call(send: Callable[[], Any]) -> None:
        barrier.wait()
        # All redrives except the first are refused, each way (tool or command) with another error message.
        with suppress(MnemosyneError, SystemExit):
            send()

    with ThreadPoolExecutor(len(calls)) as threads:
        list(threads.map(call, calls))


def _published(services: FakeServices) -> list[str]:
    return sorted(request.content for _, requests in services.queue.published for request in requests)


@pytest.mark.parametrize("way", WAYS)
def test_concurrent_redrives_of_one_dead_letter_publish_it_once(
    services: FakeServices, ways: dict[str, Way], way: str
) -> None:
    _at_once([lambda: ways[way]("3")] * AT_ONCE)
    everything = [f"Memory {number}." for number in range(LETTERS)]
    assert _published(services) == (everything if "all" in way or "cause" in way else ["Memory 3."])
    assert len(services.memories_of("ada").dead_letters(100)) == LETTERS, "each is kept until it has an outcome"


def test_concurrent_redrives_by_tool_and_command_publish_each_dead_letter_once(
    services: FakeServices, ways: dict[str, Way]
) -> None:
    _at_once([lambda way=way: way("3") for way in ways.values()])  # type: ignore[misc]
    assert _published(services) == [f"Memory {number}." for number in range(LETTERS)]
    assert len(services.memories_of("ada").dead_letters(100)) == LETTERS
