"""`mnemosyne import`: bulk ingest of files, with a progress bar that counts outcomes and not intentions."""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import click
import httpx

from infra.cli import formats, importer
from infra.cli.target import DEFAULT_NAMESPACE, target
from mnemosyne.backends import Backends
from mnemosyne.domain.memory import IngestState, MemoryChange
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.errors import InvalidRequest, Unavailable

PAUSE_SECONDS = 0.1
Outcomes = Mapping[UUID, tuple[IngestState, UUID | None, str | None]]


@click.command(name="import")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--format", "format_", type=click.Choice(formats.FORMATS), help="[default: by the file's name]")
@click.option("--via", type=click.Choice(["mcp", "pubsub"]), default="pubsub", show_default=True, help="Way in.")
@click.option("--url", default="http://127.0.0.1:8080/mcp", show_default=True, help="The server, with --via mcp.")
@click.option("--namespace", default=DEFAULT_NAMESPACE, show_default=True, help="Whose memories, with --via pubsub.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
@click.option("--data-dir", metavar="DIR", help="Work on a local system in this directory, with --via pubsub.")
def import_(
    files: tuple[Path, ...],
    format_: str | None,
    via: str,
    url: str,
    namespace: str,
    as_json: bool,
    data_dir: str | None,
) -> None:
    """Ingest memories from FILES and follow each to its outcome. Interrupted, it goes on where it was."""
    totals: dict[str, int] = {"stored": 0, "duplicate": 0, "failed": 0}
    with _destination(via, url, namespace, data_dir) as destination:
        for path in files:
            summary = _import(path, format_ or formats.guess(path), destination)
            for state, count in summary.states.items():
                totals[state] = totals.get(state, 0) + count
    if as_json:
        click.echo(json.dumps(totals))
    else:
        click.echo(", ".join(f"{count} {state}" for state, count in totals.items()) + ".")
    if totals["failed"]:
        sys.exit(1)


def _import(path: Path, format_: str, destination: importer.Destination) -> importer.Summary:
    beside = path.parent / path.name
    try:
        total = sum(1 for _ in formats.read(path, format_))
    except (OSError, ValueError) as exc:
        raise InvalidRequest(f"{path} cannot be read as {format_}: {exc}") from exc
    journal = importer.Journal(Path(f"{beside}.import-journal"))
    started = time.monotonic()
    with click.progressbar(
        length=total,
        label=path.name,
        show_pos=True,
        show_eta=True,
        item_show_func=lambda rate: rate or "",
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
    ) as bar:

        def progress(count: int) -> None:
            bar.update(count, f"{(bar.pos + count) / (time.monotonic() - started):.0f}/s")

        summary = importer.run(formats.read(path, format_), destination, journal, progress)
    if summary.failures:
        failures = Path(f"{beside}.failures.jsonl")
        failures.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in summary.failures))
        click.echo(f"{len(summary.failures)} failures with their causes: {failures}", err=True)
    return summary


@contextmanager
def _destination(via: str, url: str, namespace: str, data_dir: str | None) -> Iterator[importer.Destination]:
    if via == "mcp":
        yield OverMcp(url)
        return
    with target(data_dir) as system:
        yield OverPubSub(system, namespace)


class _Pausing:
    """Waits a moment between two questions."""

    def __init__(self) -> None:
        self._never = threading.Event()

    def pause(self) -> None:
        """Wait a moment before asking again."""
        self._never.wait(PAUSE_SECONDS)


class OverPubSub(_Pausing):
    """Publish to the topic and read outcomes from the database."""

    def __init__(self, system: Backends, namespace: str) -> None:
        super().__init__()
        self._system = system
        self._namespace = namespace

    def send(self, memories: Sequence[MemoryInput]) -> list[UUID]:
        """Publish them as one message; their request ids, in order."""
        requests = [memory.request() for memory in memories]
        self._system.queue.publish(self._namespace, requests)
        return [request.request_id for request in requests]

    def outcomes(self, request_ids: Sequence[UUID]) -> Outcomes:
        """State, memory and error of each request that is known; while the database is away, none is."""
        try:
            known = self._system.memories.statuses(self._namespace, request_ids)
        except Unavailable:
            return {}
        return {one.request_id: (one.state, one.memory_id, one.error) for one in known.values()}

    def supersede(self, memory_id: UUID, successor: UUID) -> None:
        """Say that one memory replaces another."""
        self._system.memories.update(self._namespace, memory_id, MemoryChange(superseded_by=successor))


class OverMcp(_Pausing):
    """Call the server's tools; a bearer token is taken from MNEMOSYNE_TOKEN."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        token = os.environ.get("MNEMOSYNE_TOKEN")
        self._client = httpx.Client(timeout=60, headers={"Authorization": f"Bearer {token}"} if token else {})

    def send(self, memories: Sequence[MemoryInput]) -> list[UUID]:
        """Hand them over in one call; their request ids, in order."""
        arguments = [memory.model_dump(mode="json", exclude_none=True) for memory in memories]
        answer = self.call("ingest_memories", {"memories": arguments})
        return [UUID(one) for one in answer["request_ids"]]

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

    def supersede(self, memory_id: UUID, successor: UUID) -> None:
        """Say that one memory replaces another."""
        self.call("update_memory", {"id": str(memory_id), "superseded_by": str(successor)})

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """A tool's structured result; raises Unavailable where there is none."""
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        try:
            response = self._client.post(self._url, json=body)
            answer = response.json()
        except (httpx.HTTPError, ValueError) as exc:
            raise Unavailable(f"{self._url} cannot be reached: {exc}") from exc
        result = answer.get("result")
        if result is None or result.get("isError"):
            said = result["content"][0]["text"] if result else answer.get("error", answer)
            raise Unavailable(f"{tool}: {said}")
        structured: dict[str, Any] = result["structuredContent"]
        return structured
