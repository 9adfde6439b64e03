"""`mnemosyne reembed` while the old or the new model fails, for all texts or for one."""

from typing import Any

import pytest

from mnemosyne.adapters.database.memory_database import read_embedding_space
from mnemosyne.adapters.database.reembedding import Reembedding
from tests.fakes_wire.gemini import GeminiServer, error
from tests.integration.test_reembed import NEW, OLD, MoveStep, filled, moving

pytestmark = pytest.mark.slow

__all__ = ["filled", "moving"]

_EXCLUSIVE_LOCKS = """
SELECT count(*) AS count FROM pg_locks
WHERE relation = CAST('memories' AS regclass) AND mode = 'AccessExclusiveLock' AND granted
"""
MOVE = ("--model", NEW.model, "--dimension", str(NEW.dimension))


def test_a_move_does_not_need_the_old_model(moving: MoveStep, gemini: GeminiServer) -> None:
    gemini.fault = lambda server: error(404, "retired") if OLD.model in server.paths[-1] else None
    result = moving.reembed(*MOVE)
    assert result.exit_code == 0, result.output
    assert read_embedding_space(moving.owner) == NEW


@pytest.mark.parametrize("status", [400, 500])
def test_a_memory_that_the_new_model_does_not_embed_is_named(
    moving: MoveStep, gemini: GeminiServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr("mnemosyne.cli.reembed.ATTEMPTS", 1)
    moving.store("the poison")
    ((memory_id,),) = moving.owner.run("SELECT id FROM memories WHERE content = 'the poison'")
    gemini.fault = lambda server: error(status, "blocked") if "the poison" in str(server.body) else None
    result = moving.reembed(*MOVE)
    assert result.exit_code == 1
    assert f"memory {memory_id} of namespace 'default'" in str(result.exception)
    assert "delete it first" in str(result.exception)


def test_searches_do_not_wait_while_the_new_model_fails_at_the_switch(
    moving: MoveStep, gemini: GeminiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemosyne.cli.reembed.ATTEMPTS", 1)
    build_indexes = Reembedding.index

    def index(move: Reembedding) -> None:
        build_indexes(move)
        moving.store("stored meanwhile")

    locks = []

    def fails(server: GeminiServer) -> tuple[int, Any] | None:
        if NEW.model not in server.paths[-1] or "stored meanwhile" not in str(server.body):
            return None
        locks.append(moving.owner.one(_EXCLUSIVE_LOCKS)["count"])
        return error(503)

    monkeypatch.setattr(Reembedding, "index", index)
    gemini.fault = fails
    result = moving.reembed(*MOVE)
    assert (result.exit_code, read_embedding_space(moving.owner)) == (1, OLD)
    assert set(locks) == {0}
    gemini.fault = None
    assert moving.reembed(*MOVE).exit_code == 0
    assert read_embedding_space(moving.owner) == NEW
