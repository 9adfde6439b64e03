"""The tests of tests/integration/test_adoption.py on each server."""

from tests.integration.test_adoption import *  # noqa: F403
