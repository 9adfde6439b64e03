"""The functions and a model of docs/requests.md agree after each of a sequence of random operations and faults.

The environment variable MODEL_SEQUENCES is the number of sequences.
"""

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import Machine

SEQUENCES = settings(
    max_examples=int(os.environ.get("MODEL_SEQUENCES", "4")),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
    print_blob=True,
)


def test_the_functions_agree_with_the_model_after_each_step(machine: type[Machine]) -> None:
    run_state_machine_as_test(machine, settings=SEQUENCES)
