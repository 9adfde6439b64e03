"""Settings: all problems are reported in one error, each with the variable's name."""

import re

import pytest

from mnemosyne.app.container import embedding_space
from mnemosyne.domain.embedding_space import PROVIDERS, EmbeddingSpace, Provider, how_to_select
from mnemosyne.errors import Misconfigured
from mnemosyne.settings import Settings, unknown_variables

GOOD = {"MNEMOSYNE_DATABASE_URL": "postgresql://u@/d?host=/s", "MNEMOSYNE_TOPIC": "projects/p/topics/t"}
OAUTH = {"MNEMOSYNE_AUTH_MODE": "oauth", "MNEMOSYNE_OAUTH_RESOURCES": "https://memory.example/mcp"}
INSTANCE = {
    "MNEMOSYNE_INSTANCE_CONNECTION_NAME": "p:europe-west1:m",
    "MNEMOSYNE_DB_NAME": "mnemosyne",
    "MNEMOSYNE_DB_USER": "ingest@p.iam.gserviceaccount.com",
    "MNEMOSYNE_TOPIC": "projects/p/topics/t",
}
LOOPBACK = ("localhost:*", "127.0.0.1:*", "[::1]:*", "localhost", "127.0.0.1", "[::1]")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (GOOD, {"embedding_dimension": 256, "allowed_hosts": LOOPBACK}),
        (GOOD | {"MNEMOSYNE_EMBEDDER": "gemini"}, {"embedding_dimension": 768}),
        (GOOD | {"MNEMOSYNE_ALLOWED_HOSTS": "a.example, b.example"}, {"allowed_hosts": ("a.example", "b.example")}),
        # `mcp` compares the URL with the issuer of tokens, and clients compare it with the issuer in the metadata.
        (GOOD | OAUTH | {"MNEMOSYNE_OAUTH_ISSUER": "https://a.example/"}, {"oauth_issuer": "https://a.example"}),
        (INSTANCE, {"db_iam_auth": True, "db_ip_type": "PRIVATE"}),
    ],
    ids=["required", "gemini", "list", "slash", "Cloud SQL"],
)
def test_a_setting_is_read_or_has_a_default(environment: dict[str, str], expected: dict[str, object]) -> None:
    settings = Settings.from_environment(environment)
    assert {name: getattr(settings, name) for name in expected} == expected


def test_every_problem_is_named_in_one_error() -> None:
    wrong = {"DB_POOL_SIZE": "many", "EMBEDDER": "magic", "OAUTH_PEOPLE": '[{"who": "x"}]'}
    with pytest.raises(Misconfigured) as refused:
        Settings.from_environment({f"MNEMOSYNE_{name}": value for name, value in wrong.items()})
    message = str(refused.value)
    for problem in (
        "DATABASE_URL and MNEMOSYNE_INSTANCE", "TOPIC is not set", "DB_POOL_SIZE", "EMBEDDER",
        "OAUTH_PEOPLE: must be a JSON array of rules: who must be an address",
    ):  # fmt: skip
        assert f"MNEMOSYNE_{problem}" in message


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"MNEMOSYNE_DATABASE_URL": "postgresql://u@/d"}, "both are set"),
        ({"MNEMOSYNE_INSTANCE_CONNECTION_NAME": "", **GOOD}, "MNEMOSYNE_DB_USER belongs to a Cloud SQL instance"),
        ({"MNEMOSYNE_DB_USER": ""}, "MNEMOSYNE_DB_USER is not set"),
        ({"MNEMOSYNE_DB_PASSWORD": "hush"}, "IAM uses no password"),
        ({"MNEMOSYNE_DB_IAM_AUTH": "false"}, "MNEMOSYNE_DB_PASSWORD must be set"),
        ({"MNEMOSYNE_DB_IP_TYPE": "MOON"}, "MNEMOSYNE_DB_IP_TYPE"),
        ({"MNEMOSYNE_AUTH_MODE": "none", "K_SERVICE": "mcp"}, "allowed on loopback hosts only"),
        ({"MNEMOSYNE_AUTH_MODE": "none", "MNEMOSYNE_ALLOWED_HOSTS": "memory.example.com"}, "on loopback hosts only"),
        ({"MNEMOSYNE_AUTH_MODE": "iam", "MNEMOSYNE_ALLOWED_HOSTS": "memory.example.com"}, "it needs loopback hosts"),
        ({"MNEMOSYNE_AUTH_MODE": "oidc"}, "MNEMOSYNE_OIDC_ISSUER is not set, but MNEMOSYNE_AUTH_MODE is oidc"),
        ({"MNEMOSYNE_OIDC_AUDIENCE": "x"}, "MNEMOSYNE_OIDC_AUDIENCE is set, but MNEMOSYNE_AUTH_MODE is api_key"),
        ({"MNEMOSYNE_PUSH_AUDIENCE": "https://x"}, "or neither"),
        ({"MNEMOSYNE_INSTANCE_CONNECTION_NAME": "m"}, "must be project:region:instance, got 'm'"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"}, "must start with http:// or https://, got"),
        ({"MNEMOSYNE_TOPIC": "somewhere"}, "MNEMOSYNE_TOPIC"),
        ({"MNEMOSYNE_EMBEDDING_DIMENSION": "768"}, "must be 256 with MNEMOSYNE_EMBEDDER=offline, got '768'"),
        (
            {"MNEMOSYNE_EMBEDDER": "gemini", "MNEMOSYNE_EMBEDDING_MODEL": "nope"},
            "must be the name of a model of gemini, such as gemini-embedding-2, got 'nope'",
        ),
        ({"MNEMOSYNE_EMBEDDING_MODEL": "gemini-embedding-2"}, "has no effect with MNEMOSYNE_EMBEDDER=offline"),
    ],
)
def test_contradictory_settings_are_refused(changed: dict[str, str], message: str) -> None:
    with pytest.raises(Misconfigured, match=message):
        Settings.from_environment({**INSTANCE, **changed})


@pytest.mark.parametrize(("name", "provider"), PROVIDERS.items())
def test_the_settings_that_an_operator_is_told_to_set_select_the_space(name: str, provider: Provider) -> None:
    space = EmbeddingSpace(name, provider.model, provider.dimension)
    values = dict(re.findall(r"(MNEMOSYNE_\w+)\)? to (\S+?),? ", f"{how_to_select(space)} "))
    assert embedding_space(Settings.from_environment({**GOOD, **values})) == space


def test_secrets_are_not_shown() -> None:
    with pytest.raises(Misconfigured, match="MNEMOSYNE_DATABASE_URL") as refused:
        Settings.from_environment({**GOOD, "MNEMOSYNE_DATABASE_URL": "mysql://u:hush@h/d"})
    assert "hush" not in str(refused.value)
    for environment in (
        {**INSTANCE, "MNEMOSYNE_DB_IAM_AUTH": "false", "MNEMOSYNE_DB_PASSWORD": "hush"},
        {**GOOD, "MNEMOSYNE_DATABASE_URL": "postgresql://u:hush@h/d", "MNEMOSYNE_PUSH_SECRET": "hush"},
    ):
        assert "hush" not in repr(Settings.from_environment(environment))


def test_a_variable_with_a_spelling_mistake_is_named() -> None:
    environment = {**GOOD, "MNEMOSYNE_DB_POOLSIZE": "9", "MNEMOSYNE_TOKEN": "of a client", "PATH": "/bin"}
    assert unknown_variables(environment) == ["MNEMOSYNE_DB_POOLSIZE"]
