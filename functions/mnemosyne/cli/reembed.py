"""`mnemosyne reembed`: move all memories to another embedding model or dimension while they are in use."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import click

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.embedding_space import read_embedding_space
from mnemosyne.adapters.database.memories import PostgresMemories
from mnemosyne.adapters.database.memory_database import MemoryDatabase
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.database.reembedding import Reembedding, abandon
from mnemosyne.app.container import ConfiguredServices, connection_factory_for
from mnemosyne.cli.open_services import owner_settings
from mnemosyne.cli.target import target
from mnemosyne.cli.terminal import say
from mnemosyne.domain.embedding_space import EmbeddingSpace, provider_of
from mnemosyne.domain.plurals import counted
from mnemosyne.domain.search import SearchMode, SearchQuery
from mnemosyne.errors import ServiceError, Unavailable
from mnemosyne.ports.embedder import Embedder
from mnemosyne.service import search

ATTEMPTS = 8
LONGEST_WAIT_SECONDS = 60.0
USELESS_ROUNDS = 5
"""Rounds after which no fewer memories were missing than before. A slow index build makes one or two so."""
SAMPLE = 50
SAMPLE_WORDS = 8
_SAMPLE: Final = """
SELECT id, namespace, content FROM memories WHERE superseded_by IS NULL
ORDER BY content_hash LIMIT CAST(:limit AS integer)
"""


@dataclass(frozen=True)
class _Probe:
    """A memory, and words from its middle that should find it."""

    id: UUID
    namespace: str
    query: str


@click.command()
@click.option("--model", help="The model to move to.")
@click.option("--dimension", type=click.IntRange(1, 3072), help="The dimension of its vectors.")
@click.option("--batch-size", default=100, show_default=True, type=click.IntRange(1, 1000), help="Memories per batch.")
@click.option("--abandon", "give_up", is_flag=True, help="Abandon a move: the memories keep their embeddings.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@target()
def reembed(model: str | None, dimension: int | None, batch_size: int, give_up: bool, as_json: bool) -> None:
    """Move all memories to another embedding model or dimension, as the role that owns the schema.

    Run it again to continue an interrupted move. Searches use the old embeddings until one short transaction switches
    to the new ones. Running functions follow.
    """
    settings = owner_settings()
    connection_factory = connection_factory_for(settings, socket_timeout=None, statement_seconds=0)
    connection = connection_factory()
    try:
        if give_up:
            abandon(connection)
            say("Abandoned. The memories keep their embeddings.")
            return
        if model is None or dimension is None:
            raise click.UsageError("give --model and --dimension, or --abandon")
        target = EmbeddingSpace(provider_of(model, settings.embedder), model, dimension)
        services = ConfiguredServices(settings)
        before = read_embedding_space(connection)
        probes = _probes(connection)
        move = Reembedding(connection, services.embedder_of(target), target)
        move.begin()
        old = _recall(probes, connection_factory, before, services.embedder_of(before))
        _move(move, batch_size)
        new = _recall(probes, connection_factory, target, services.embedder_of(target))
    finally:
        connection.close()
    _report(before, target, old, new, len(probes), as_json=as_json)


def _move(move: Reembedding, batch_size: int) -> None:
    """Fill, index and switch, in rounds: each embeds the memories that were stored during the one before.

    Raises Unavailable if memories are stored as fast as they are embedded.
    """
    useless = 0
    while useless < USELESS_ROUNDS:
        missing = move.missing()
        _fill(move, missing, batch_size)
        move.index()
        if _switched(move):
            return
        useless += move.missing() >= missing
    raise Unavailable(
        f"memories are stored as fast as they are embedded again, and {move.missing():,} are left: run the same "
        "command again when fewer are stored; what was embedded is kept"
    )


def _fill(move: Reembedding, count: int, batch_size: int) -> None:
    with click.progressbar(
        length=count,
        label="embedding",
        show_pos=True,
        show_eta=True,
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
    ) as bar:
        while count > 0 and (filled := _patiently(move, min(batch_size, count))):
            bar.update(filled)
            count -= filled


def _patiently(move: Reembedding, batch_size: int) -> int:
    """Fill one batch. Retry for some minutes if the embedder cannot be reached."""
    for attempt in range(ATTEMPTS):
        try:
            return move.fill(batch_size)
        except ServiceError as exc:
            if exc.needs_operator or attempt == ATTEMPTS - 1:
                raise Unavailable(f"{exc}; run the same command again to go on") from exc
            time.sleep(min(LONGEST_WAIT_SECONDS, 2.0**attempt))
    raise AssertionError("unreachable")


def _switched(move: Reembedding) -> bool:
    for attempt in range(ATTEMPTS):
        try:
            return move.switch()
        except Unavailable:  # the lock timed out, so that searches do not queue behind the switch
            if attempt == ATTEMPTS - 1:
                raise
            time.sleep(min(LONGEST_WAIT_SECONDS, 0.5 * 2.0**attempt))
    raise AssertionError("unreachable")


def _probes(connection: Connection) -> Sequence[_Probe]:
    rows = connection.run(
        _SAMPLE,
        limit=SAMPLE,
    )
    probes = []
    for row in rows:
        words = row["content"].split()
        start = max(0, (len(words) - SAMPLE_WORDS) // 2)
        probes.append(_Probe(row["id"], row["namespace"], " ".join(words[start : start + SAMPLE_WORDS])))
    return [probe for probe in probes if probe.query]


def _recall(
    probes: Sequence[_Probe], connection_factory: Callable[[], Connection], space: EmbeddingSpace, embedder: Embedder
) -> float | None:
    """Return the share of probes with their memory among the ten nearest by meaning."""
    if not probes:
        return None
    pool = Pool(connection_factory, 1)
    database = MemoryDatabase(pool, space)
    hits = 0
    for probe in probes:
        query = SearchQuery(query=probe.query, mode=SearchMode.SEMANTIC, limit=10)
        vector = embedder.embed_query(probe.query)
        ranked, _ = search.rank(
            query,
            vector,
            memories=PostgresMemories(database, probe.namespace),
            model=embedder.model,
            lexical_weight=embedder.lexical_weight,
        )
        hits += str(probe.id) in {entry.candidate.id for entry in ranked[: query.limit]}
    pool.close()
    return hits / len(probes)


def _report(
    before: EmbeddingSpace,
    after: EmbeddingSpace,
    old: float | None,
    new: float | None,
    count: int,
    *,
    as_json: bool,
) -> None:
    if as_json:
        report = {"from": str(before), "to": str(after), "sampled": count, "recall_before": old, "recall_after": new}
        say(json.dumps(report))
        return
    say(f"Moved from {before} to {after}.")
    if old is not None and new is not None:
        texts = counted(count, "memory", "memories")
        say(f"Recall@10 of {texts} by words from their middle: {old:.2f} before, {new:.2f} after.")
    say(f"Now set MNEMOSYNE_EMBEDDING_MODEL={after.model} and MNEMOSYNE_EMBEDDING_DIMENSION={after.dimension}.")
