"""Measure the removal of expired memories: its rate, the space used afterwards, and searches during the removal."""

import statistics
import threading
import time
from collections.abc import Callable
from typing import Final

from infra.benchmarks import isolation
from infra.benchmarks.database import new_database, opened, owner_of
from infra.benchmarks.figures import Figure
from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.memory_database import MemoryDatabase
from mnemosyne.adapters.database.retention import Retention
from mnemosyne.cli.local import postgres

ROUNDS = 12
SEARCHES = 10
"""Number of searches of each kind that a round makes without the removal, and again during the removal."""
KINDS = ("meaning", "hybrid", "newest")
EXPIRE: Final = (
    "UPDATE memories SET expires_at = now() WHERE mod(CAST(extract(epoch FROM timestamp) / 60 AS bigint), 10) = 3"
)
SIZE = "SELECT pg_total_relation_size('memories') / 1e6 AS megabytes"


class Sweep:
    """Removes expired memories in a thread, as the scheduled job does, while the code in a `with` block runs."""

    def __init__(self, retention: Retention) -> None:
        self._retention = retention
        self._stopped = threading.Event()
        self.removed, self.seconds, self.is_done = 0, 0.0, False

    def __enter__(self) -> None:
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.perf_counter()
        for count in self._retention.remove_all_expired():
            self.removed += count
            if self._stopped.is_set():
                break
        else:
            self.is_done = True
        self.seconds += time.perf_counter() - began


def figures(rows: int) -> list[Figure]:
    """Measure searches while expired memories are removed. A tenth of the `rows` memories have expired.

    Each round makes the searches once without the removal and once during it, directly one after the other, so that
    changes of the machine's speed affect both.
    """
    with (
        new_database(isolation.SPACE) as (server, _),
        owner_of(server) as owner,
        opened(server, isolation.SPACE) as memories,
    ):
        isolation.prepare(owner, rows, EXPIRE)
        connect = connection_factory(server.url(postgres.OWNER), socket_timeout=None, statement_seconds=0)
        return _measure(owner, Sweep(Retention(connect)), memories, rows)


def _measure(owner: Connection, sweep: Sweep, database: MemoryDatabase, rows: int) -> list[Figure]:
    kinds = {name: work for name, work in isolation.searches(database).items() if name in KINDS}
    for work in kinds.values():
        _median_seconds(work)  # warms the caches
    before = owner.one(SIZE)["megabytes"]
    ratios: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(ROUNDS):
        quiet = {name: _median_seconds(work) for name, work in kinds.items()}
        with sweep:
            during = {name: _median_seconds(work) for name, work in kinds.items()}
        if sweep.is_done:  # the removal ended during this round, so the round does not count
            break
        for name, values in ratios.items():
            values.append(during[name] / quiet[name])
    with sweep:
        while owner.one("SELECT count(*) AS n FROM memories WHERE expires_at <= now()")["n"]:
            time.sleep(0.5)
    swept = owner.one(SIZE)["megabytes"]
    owner.script("VACUUM memories")
    megabytes = " / ".join(f"{size:,.0f}" for size in (before, swept, owner.one(SIZE)["megabytes"]))
    print(
        f"{sweep.removed:,} of {rows:,} memories removed, {sweep.removed / sweep.seconds:,.0f} a second; table and "
        f"indexes before / after / after VACUUM: {megabytes} MB"
    )
    return [
        Figure.of(f"{name}, during the removal of expired memories / before, {rows:,}", values, 1.2)
        for name, values in ratios.items()
    ]


def _median_seconds(work: Callable[[], object]) -> float:
    """Return the median seconds of SEARCHES calls of `work`."""
    seconds = []
    for _ in range(SEARCHES):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)
