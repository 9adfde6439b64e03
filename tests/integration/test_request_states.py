"""The states of a request match docs/requests.md."""

import re

from mnemosyne.adapters.database.pool import Pool
from tests.request_states import documented_states

NEXT_STATE = "SELECT next_request_state(:state, :event) AS state"


def test_each_cell_of_the_documented_table_is_the_state_that_the_function_returns(pool: Pool) -> None:
    with pool.connection() as connection:
        actual = {
            (event, state): connection.one(NEXT_STATE, state=state, event=event)["state"]
            for event, state in documented_states()
        }
    assert actual == documented_states()
    assert len(actual) == 7 * 7


def test_the_documented_table_has_each_state_that_a_request_can_have(pool: Pool) -> None:
    with pool.connection() as connection:
        (constraint,) = connection.run(
            "SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint"
            " WHERE conrelid = CAST('ingest_requests' AS regclass) AND contype = 'c'"
        )
    assert {state for _, state in documented_states() if state} == set(re.findall(r"'(\w+)'", constraint["text"]))
