"""A running `mnemosyne dev`, and its database, which tests also use directly."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.embedders.offline import SPACE
from mnemosyne.app.operator import OwnerStores
from mnemosyne.cli.local import postgres
from mnemosyne.cli.local.data_dir import DataDir
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.memory import IngestRequest
from mnemosyne.domain.message import IngestMessage, encode
from mnemosyne.domain.principal import Scope
from mnemosyne.service.api_keys import new_key
from tests.dev import DevServer
from tests.fakes import memories_in
from tests.mcp_client import TIMESTAMP
from tests.shared_database import SharedDatabase

MOST_MEMORIES = 100
"""Maximum number of memories that a tool accepts in one call."""


class ConsoleServer(DevServer):
    """A running `mnemosyne dev`, with direct access to its database.

    Tests store directly what commands of an operator would store, because a command takes a second or more.
    """

    @cached_property
    def _cluster(self) -> postgres.EmbeddedPostgres:
        return postgres.start(DataDir.existing(str(self.directory / "data")))

    @cached_property
    def database(self) -> SharedDatabase:
        """The database of the server."""
        return SharedDatabase(self._cluster, postgres.DATABASE)

    @cached_property
    def owner(self) -> OwnerStores:
        """The stores to which the operator's commands write, such as the store of API keys."""
        return OwnerStores(self.database.connect_as_owner)

    def memories(self, namespace: str = "default") -> MemoryStore:
        """Return the store of a namespace."""
        return memories_in(self.database.pool, namespace, SPACE)

    def make_key(self, *scopes: str, namespace: str = "default") -> str:
        """Create an API key as `mnemosyne keys create` does, and return its token."""
        key, token = new_key(
            name="console",
            namespace=namespace,
            scopes=frozenset(map(Scope, scopes)),
            created_at=datetime.now(UTC),
            expires_at=None,
        )
        self.owner.keys.create(key)
        return token

    def remember_all(self, *memories: dict[str, Any]) -> list[str]:
        """Store several memories with few calls, and return their ids in the same order."""
        rows = [{"timestamp": TIMESTAMP, **memory} for memory in memories]
        parts = [rows[start : start + MOST_MEMORIES] for start in range(0, len(rows), MOST_MEMORIES)]
        requests = [self.call("ingest_memories", {"memories": part})["request_ids"] for part in parts]
        statuses = [status for ids in requests for status in self.outcomes(ids)]
        assert {status["state"] for status in statuses} <= {"stored"}, statuses
        return [str(status["memory_id"]) for status in statuses]

    def remember_titled(self, *titles: str, day: str = "2024-03-01", **fields: Any) -> list[str]:
        """Store memories with these titles, one for each hour from the start of `day`, and return their ids."""
        start = datetime.fromisoformat(f"{day}T00:00:00Z")
        return self.remember_all(
            *(
                {
                    "content": f"TITLE: {title}\nThe story of {title}.",
                    "timestamp": (start + timedelta(hours=hour)).isoformat(),
                    **fields,
                }
                for hour, title in enumerate(titles)
            )
        )

    def delete(self, ids: Sequence[str]) -> None:
        """Delete memories."""
        for start in range(0, len(ids), MOST_MEMORIES):
            self.call("delete_memory", {"ids": ids[start : start + MOST_MEMORIES]})

    def give_up(
        self, requests: Sequence[IngestRequest], cause: str, *, message_id: str = "", days_ago: float = 0
    ) -> None:
        """Dead-letter a message with these requests, as the function `dead_letter` does."""
        data, attributes = encode("default", requests, "")
        letter = DeadLetter(
            message_id=message_id or str(requests[0].request_id),
            data=data,
            attributes=attributes,
            cause=cause,
            dead_lettered_at=datetime.now(UTC) - timedelta(days=days_ago),
        )
        waiting = IngestMessage("default", tuple(requests)).waiting(cause)
        contents = {request.request_id: request.content_hash for request in requests}
        self.memories().give_up(letter, waiting, contents=contents)

    def store_dead_letter(self, message_id: str, cause: str, namespace: str = "default") -> None:
        """Dead-letter a message that has no request."""
        now = datetime.now(UTC)
        letter = DeadLetter(message_id=message_id, data=b"{", attributes={}, cause=cause, dead_lettered_at=now)
        self.memories(namespace).store_dead_letter(letter)

    def close(self) -> None:
        """Close the connections to the database, and stop the server."""
        if "database" in self.__dict__:
            self.database.close()
            self._cluster.stop()
        super().close()


@contextmanager
def serving(*arguments: str) -> Iterator[ConsoleServer]:
    """Run `mnemosyne dev` with these arguments in a new directory, until the `with` block ends."""
    with (
        tempfile.TemporaryDirectory(prefix="mnemosyne-dev-") as directory,
        closing(ConsoleServer(Path(directory))) as server,
    ):
        server.arguments = arguments
        server.start()
        yield server
