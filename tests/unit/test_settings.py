"""Settings: all problems at once, each with the variable's name."""

import pytest

from mnemosyne.errors import Misconfigured
from mnemosyne.settings import Settings

GOOD = {"MNEMOSYNE_DATABASE_URL": "postgresql://u@/d?host=/s", "MNEMOSYNE_TOPIC": "projects/p/topics/t"}


def test_the_least_that_is_needed() -> None:
    settings = Settings.from_environment(GOOD)
    assert settings.embedding_dimension == 256
    assert "localhost:*" in settings.allowed_hosts


def test_lists_are_split_on_commas() -> None:
    settings = Settings.from_environment({**GOOD, "MNEMOSYNE_ALLOWED_HOSTS": "a.example, b.example"})
    assert settings.allowed_hosts == ("a.example", "b.example")


def test_every_problem_is_named_in_one_error() -> None:
    with pytest.raises(Misconfigured) as refused:
        Settings.from_environment({"MNEMOSYNE_DB_POOL_SIZE": "many", "MNEMOSYNE_EMBEDDER": "magic"})
    message = str(refused.value)
    for variable in ("DATABASE_URL is not set", "TOPIC is not set", "DB_POOL_SIZE", "EMBEDDER"):
        assert f"MNEMOSYNE_{variable}" in message


@pytest.mark.parametrize(
    ("variable", "value"), [("MNEMOSYNE_TOPIC", "somewhere"), ("MNEMOSYNE_DATABASE_URL", "mysql://x")]
)
def test_a_value_of_the_wrong_form_is_refused(variable: str, value: str) -> None:
    with pytest.raises(Misconfigured, match=variable):
        Settings.from_environment({**GOOD, variable: value})
