"""Adoption of a Go server's memories, as tests/integration claims it."""

import pytest

from tests.integration.test_adoption import *  # noqa: F403
from tests.servers.conftest import DEFAULT_BY_DAY

pytestmark = pytest.mark.parametrize("server", DEFAULT_BY_DAY, indirect=True)
