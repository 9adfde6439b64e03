"""The wheels and the environments that they are installed in, shared by all processes of a test session."""

from pathlib import Path

import pytest

from tests.wheels import Installed, build, install, session_directory


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheels that `make package` builds."""
    return build(session_directory(tmp_path_factory))


@pytest.fixture(scope="session")
def for_cloud(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in an empty environment, with the extra `cloud`."""
    return install(session_directory(tmp_path_factory), "cloud")


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in an empty environment, with the extra `local`."""
    return install(session_directory(tmp_path_factory), "local")
