"""Settings: all problems are reported in one error, each with the variable's name."""

import pytest

from mnemosyne.errors import Misconfigured
from mnemosyne.settings import Settings, unknown_variables

GOOD = {"MNEMOSYNE_DATABASE_URL": "postgresql://u@/d?host=/s", "MNEMOSYNE_TOPIC": "projects/p/topics/t"}


def test_the_required_settings_are_sufficient() -> None:
    settings = Settings.from_environment(GOOD)
    assert settings.embedding_dimension == 256
    assert "localhost:*" in settings.allowed_hosts


def test_lists_are_split_on_commas() -> None:
    settings = Settings.from_environment({**GOOD, "MNEMOSYNE_ALLOWED_HOSTS": "a.example, b.example"})
    assert settings.allowed_hosts == ("a.example", "b.example")


def test_the_url_of_the_auth_function_has_no_slash_at_its_end() -> None:
    """`mcp` compares it with the issuer of tokens, and clients compare it with the issuer in the metadata of `auth`."""
    oauth = {"MNEMOSYNE_AUTH_MODE": "oauth", "MNEMOSYNE_OAUTH_RESOURCES": "https://memory.example/mcp"}
    settings = Settings.from_environment({**GOOD, **oauth, "MNEMOSYNE_OAUTH_ISSUER": "https://auth.example/"})
    assert settings.oauth_issuer == "https://auth.example"


def test_every_problem_is_named_in_one_error() -> None:
    with pytest.raises(Misconfigured) as refused:
        Settings.from_environment(
            {
                "MNEMOSYNE_DB_POOL_SIZE": "many",
                "MNEMOSYNE_EMBEDDER": "magic",
                "MNEMOSYNE_OAUTH_PEOPLE": '[{"who": "x"}]',
            }
        )
    message = str(refused.value)
    for problem in (
        "DATABASE_URL and MNEMOSYNE_INSTANCE", "TOPIC is not set", "DB_POOL_SIZE", "EMBEDDER",
        "OAUTH_PEOPLE: must be a JSON array of rules: who must be an address",
    ):  # fmt: skip
        assert f"MNEMOSYNE_{problem}" in message


@pytest.mark.parametrize(
    ("variable", "value"), [("MNEMOSYNE_TOPIC", "somewhere"), ("MNEMOSYNE_DATABASE_URL", "mysql://x")]
)
def test_a_value_of_the_wrong_form_is_refused(variable: str, value: str) -> None:
    with pytest.raises(Misconfigured, match=variable):
        Settings.from_environment({**GOOD, variable: value})


INSTANCE = {
    "MNEMOSYNE_INSTANCE_CONNECTION_NAME": "p:europe-west1:m",
    "MNEMOSYNE_DB_NAME": "mnemosyne",
    "MNEMOSYNE_DB_USER": "ingest@p.iam.gserviceaccount.com",
    "MNEMOSYNE_TOPIC": "projects/p/topics/t",
}


def test_by_default_a_cloud_sql_instance_is_reached_by_private_address_with_iam_log_in() -> None:
    settings = Settings.from_environment(INSTANCE)
    assert (settings.db_iam_auth, settings.db_ip_type) == (True, "PRIVATE")


def test_the_default_dimension_of_gemini_embeddings_is_768() -> None:
    assert Settings.from_environment({**GOOD, "MNEMOSYNE_EMBEDDER": "gemini"}).embedding_dimension == 768


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"MNEMOSYNE_DATABASE_URL": "postgresql://u@/d"}, "both are set"),
        ({"MNEMOSYNE_DB_USER": ""}, "MNEMOSYNE_DB_USER is not set"),
        ({"MNEMOSYNE_DB_PASSWORD": "hush"}, "IAM uses no password"),
        ({"MNEMOSYNE_DB_IAM_AUTH": "false"}, "MNEMOSYNE_DB_PASSWORD must be set"),
        ({"MNEMOSYNE_DB_IP_TYPE": "MOON"}, "MNEMOSYNE_DB_IP_TYPE"),
        ({"MNEMOSYNE_AUTH_MODE": "none", "K_SERVICE": "mcp"}, "allowed on loopback hosts only"),
        (
            {"MNEMOSYNE_AUTH_MODE": "none", "MNEMOSYNE_ALLOWED_HOSTS": "memory.example.com"},
            "allowed on loopback hosts only",
        ),
        ({"MNEMOSYNE_AUTH_MODE": "iam", "MNEMOSYNE_ALLOWED_HOSTS": "memory.example.com"}, "it needs loopback hosts"),
        ({"MNEMOSYNE_AUTH_MODE": "oidc"}, "MNEMOSYNE_OIDC_ISSUER is not set, but MNEMOSYNE_AUTH_MODE is oidc"),
        ({"MNEMOSYNE_OIDC_AUDIENCE": "x"}, "MNEMOSYNE_OIDC_AUDIENCE is set, but MNEMOSYNE_AUTH_MODE is api_key"),
        ({"MNEMOSYNE_PUSH_AUDIENCE": "https://x"}, "or neither"),
        ({"MNEMOSYNE_INSTANCE_CONNECTION_NAME": "m"}, "must be project:region:instance, got 'm'"),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"},
            "must start with http:// or https://, got",
        ),
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


def test_settings_of_a_cloud_sql_instance_are_refused_together_with_a_database_url() -> None:
    with pytest.raises(Misconfigured, match="MNEMOSYNE_DB_USER belongs to a Cloud SQL instance"):
        Settings.from_environment({**GOOD, "MNEMOSYNE_DB_USER": "u"})


def test_secrets_are_not_shown() -> None:
    with pytest.raises(Misconfigured) as refused:
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
