"""`mnemosyne reembed` while the old or the new model fails, for all texts or for one."""

import pytest

from mnemosyne.adapters.database.memory_database import read_embedding_space
from tests.fakes_wire.gemini import GeminiServer, error
from tests.integration.test_reembed import NEW, OLD, MoveStep, moving

pytestmark = pytest.mark.slow

__all__ = ["moving"]

MOVE = ("--model", NEW.model, "--dimension", str(NEW.dimension))


@pytest.mark.parametrize("status", [404, 429, 503])
def test_a_move_does_not_need_the_old_model(moving: MoveStep, gemini: GeminiServer, status: int) -> None:
    gemini.fault = lambda server: error(status, "retired") if OLD.model in server.paths[-1] else None
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
