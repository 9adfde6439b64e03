"""`mnemosyne reembed`: move all memories to another embedding model or dimension while they are in use."""

import json
import sys
import time
from typing import Any

import click

from mnemosyne.app.operations.system import AbandonMove, BeginMove, FillMove, IndexMove, SwitchMove
from mnemosyne.cli.options import JSON, text_option
from mnemosyne.cli.system import System, owners_system
from mnemosyne.cli.target import PROJECT, target, target_arguments
from mnemosyne.cli.terminal import INTERRUPTIONS, explained, say
from mnemosyne.domain.embedding_space import DIMENSIONS, EmbeddingSpace, how_to_select, provider_of
from mnemosyne.errors import ServiceError, Unavailable

INTERRUPTED = (
    "the new embeddings are kept, and searches use the old ones until the move ends. Run the same command again to "
    "continue, or `mnemosyne reembed%s --abandon` to abandon the move."
)
ATTEMPTS = 8
LONGEST_WAIT_SECONDS = 60.0
STEP = 20
"""Number of batches in one operation. The progress is shown after each operation."""
USELESS_ROUNDS = 5
"""The command gives up after this number of rounds in which the number of missing embeddings has not decreased. One or
two such rounds are normal while an index is built slowly, because memories are stored meanwhile."""


@click.command()
@text_option("--model", help="The model to move to.")
@click.option("--dimension", type=click.IntRange(*DIMENSIONS), help="The dimension of its vectors.")
@click.option("--batch-size", default=100, show_default=True, type=click.IntRange(1, 1000), help="Memories per batch.")
@click.option("--abandon", "give_up", is_flag=True, help="Abandon a move: the memories keep their embeddings.")
@JSON
@target(PROJECT)
def reembed(
    model: str | None, dimension: int | None, batch_size: int, give_up: bool, as_json: bool, **target_values: Any
) -> None:
    """Move all memories to another embedding model or dimension, as the role that owns the schema.

    Run the same command again to continue an interrupted move. Searches use the old embeddings until one short
    transaction switches to the new ones. Running functions then use the new embeddings without a restart.
    """
    with owners_system(**target_values) as system:
        if give_up:
            system.run(AbandonMove())
            say(json.dumps({"abandoned": True}) if as_json else "Abandoned. The memories keep their embeddings.")
            return
        if model is None or dimension is None:
            raise click.UsageError("give --model and --dimension, or --abandon")
        space: dict[str, Any] = {"model": model, "dimension": dimension}
        move = system.run(BeginMove(**space))
        with explained(INTERRUPTED % target_arguments(target_values), INTERRUPTIONS):
            _embed_and_switch(system, space, move["missing"], batch_size)
    if as_json:
        say(json.dumps({"from": move["from"], "to": move["to"]}))
        return
    say(f"Moved from {move['from']} to {move['to']}.")
    say(f"Now {how_to_select(EmbeddingSpace(provider_of(model, 'gemini'), model, dimension))}.")


def _embed_and_switch(system: System, space: dict[str, Any], missing: int, batch_size: int) -> None:
    """Embed all memories in the new space, build its indexes, and switch searches to the new embeddings.

    The first round embeds all memories without an embedding in the new space. Each further round embeds the memories
    that were stored during the previous round.

    Raises Unavailable if memories are stored as fast as they are embedded.
    """
    useless = 0
    while useless < USELESS_ROUNDS:
        _embed_all(system, space, missing, batch_size)
        system.run(IndexMove(**space))
        answer = _switch_searches(system, space)
        if answer["switched"]:
            return
        useless += answer["missing"] >= missing
        missing = answer["missing"]
    raise Unavailable(
        f"new memories are stored as fast as old ones are embedded: {missing:,} are left. Run the command again when "
        "fewer are stored; finished work is kept"
    )


def _embed_all(system: System, space: dict[str, Any], count: int, batch_size: int) -> None:
    with click.progressbar(
        length=count, label="embedding", show_pos=True, show_eta=True, file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        while count > 0:
            filled = _embed_some(system, FillMove(**space, batch_size=batch_size, limit=min(count, STEP * batch_size)))
            if not filled:
                return
            bar.update(filled)
            count -= filled


def _embed_some(system: System, operation: FillMove) -> int:
    """Run one operation, which embeds memories up to a time limit, and return the number of embedded memories.

    Retry for several minutes if the embedder cannot be reached.
    """
    for attempt in range(ATTEMPTS):
        try:
            return int(system.run(operation)["filled"])
        except ServiceError as exc:
            if exc.needs_operator or attempt == ATTEMPTS - 1:
                raise Unavailable(f"{exc}; run the same command again to go on") from exc
            time.sleep(min(LONGEST_WAIT_SECONDS, 2.0**attempt))
    raise AssertionError("unreachable")


def _switch_searches(system: System, space: dict[str, Any]) -> dict[str, Any]:
    for attempt in range(ATTEMPTS):
        try:
            return system.run(SwitchMove(**space))
        # The operation may have waited in vain for a lock. It waits only briefly, because searches queue behind it.
        except Unavailable:
            if attempt == ATTEMPTS - 1:
                raise
            time.sleep(min(LONGEST_WAIT_SECONDS, 0.5 * 2.0**attempt))
    raise AssertionError("unreachable")
