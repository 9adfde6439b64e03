"""`redrive` works on the letters that exist when it starts."""

from dataclasses import replace

import pytest

from mnemosyne.adapters.database.memories import PostgresMemories
from mnemosyne.domain.memory import DeadLetter
from mnemosyne_cli.all_dead_letters import PAGE, all_dead_letters
from tests.fakes import NOW

LETTER = DeadLetter(message_id="", data=b"{}", attributes={}, cause="refused", dead_lettered_at=NOW)


@pytest.mark.parametrize("count", [0, 1, PAGE, 2 * PAGE + 3])
def test_letters_that_fail_again_meanwhile_are_left_for_the_next_run(store: PostgresMemories, count: int) -> None:
    for number in range(count):
        store.store_dead_letter("ns", replace(LETTER, message_id=f"first {number:03}"))
    redriven = []
    for letter in all_dead_letters(store, "ns"):
        redriven.append(letter.message_id)
        store.delete_dead_letter("ns", letter.message_id)
        store.store_dead_letter("ns", replace(LETTER, message_id=f"again {letter.message_id}"))
    assert redriven == [f"first {number:03}" for number in range(count)]
    assert len(list(all_dead_letters(store, "ns"))) == count
