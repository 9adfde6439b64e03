"""The tests of tests/integration/test_adoption.py on each server."""

import pytest

from tests.integration.test_adoption import *  # noqa: F403
from tests.servers.conftest import DEFAULT_BY_DAY

pytestmark = pytest.mark.parametrize("server", DEFAULT_BY_DAY, indirect=True)
