"""Isolation of namespaces and rights of functions, as tests/integration and tests/abuse claim them."""

import pytest

from tests.abuse.test_isolation import *  # noqa: F403
from tests.integration.test_isolation import *  # noqa: F403
from tests.servers.conftest import DEFAULT_BY_DAY

pytestmark = pytest.mark.parametrize("server", DEFAULT_BY_DAY, indirect=True)

# Two need no database: how far the claims reach, and the offline embedder. The third measures durations.
del test_every_tool_was_tried, test_the_offline_embedder_answers_alike_whatever_others_store  # noqa: F821
del test_how_long_a_search_takes_tells_nothing_of_what_others_store  # noqa: F821


@pytest.fixture  # type: ignore[no-redef]
def pairs() -> int:
    """Few, because the claim is proved elsewhere: one for each kind of attack."""
    return 4
