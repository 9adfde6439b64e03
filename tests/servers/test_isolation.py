"""The tests of isolation and rights in tests/integration and tests/abuse, on each server."""

import pytest

from tests.abuse.test_database_rights import *  # noqa: F403
from tests.abuse.test_isolation import *  # noqa: F403
from tests.integration.test_isolation import *  # noqa: F403

# These two tests are not repeated on each server: the first needs no database, and the second measures durations.
del test_every_tool_was_tried  # noqa: F821
del test_the_duration_of_a_search_does_not_depend_on_what_another_tenant_stores  # noqa: F821


@pytest.fixture  # type: ignore[no-redef]
def seeds() -> range:
    """The seeds of the two kinds of attack that tests/abuse does not run by day."""
    return range(2, 4)
