"""Settings from environment variables. No other module reads the environment."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from mnemosyne.domain.embedding_space import PROVIDERS
from mnemosyne.domain.oauth import ACCESS_TOKEN_SECONDS, PeopleRule
from mnemosyne.domain.redirect_uris import split_uri
from mnemosyne.errors import Misconfigured

PREFIX = "MNEMOSYNE_"
OF_CLIENTS = ("MNEMOSYNE_TOKEN", "MNEMOSYNE_URL", "MNEMOSYNE_API_KEY")
"""Variables that begin with `MNEMOSYNE_` but are not settings, because commands and clients use them."""
FUNCTIONS = ("mcp", "ingest", "dead_letter", "import_object", "auth")
_SECRETS = ("database_url", "db_password", "push_secret", "oauth_client_secret")
_INSTANCE = re.compile(r"[a-z0-9.-]+(:[a-z0-9.-]+)?:[a-z0-9-]+:[a-z0-9-]+")
_TOPIC = re.compile(r"projects/[^/]+/topics/[^/]+|file:///.+")
_LOOPBACK_HOSTS = "localhost:*,127.0.0.1:*,[::1]:*,localhost,127.0.0.1,[::1]"


class Settings(BaseModel):
    """Settings of a deployment.

    The field `x` is read from the variable `MNEMOSYNE_X`. Variables of other products, such as `GOOGLE_CLOUD_PROJECT`,
    have no prefix.
    """

    model_config = ConfigDict(frozen=True)

    database_url: str = Field(
        "", repr=False, description="postgresql://user[:password]@host[:port]/name[?host=/socket/dir]"
    )
    instance_connection_name: str = Field("", description="Cloud SQL instead of a URL: project:region:instance")
    db_name: str = Field("", description="name of the database on the Cloud SQL instance")
    db_user: str = Field("", description="name of the database user; with IAM, the service account's e-mail")
    db_iam_auth: bool = Field(True, description="log in to the database with IAM; false: with MNEMOSYNE_DB_PASSWORD")
    db_password: SecretStr | None = Field(None, description="password of the database user, if IAM is not used")
    db_ip_type: Literal["PRIVATE", "PSC", "PUBLIC"] = Field(
        "PRIVATE", description="the address of the Cloud SQL instance to connect to"
    )
    sqladmin_endpoint: str = Field("", description="URL of the Cloud SQL Admin API, if it is not the public one")
    db_pool_size: int = Field(
        8, ge=1, le=100, description="the maximum number of database connections per function instance"
    )
    topic: str = Field(description="topic of accepted requests: projects/P/topics/T, or file:///path of a local queue")
    outcome_topic: str = Field(
        "", description="topic of outcomes: projects/P/topics/T; empty: outcomes are not published"
    )
    immutable_sources: tuple[str, ...] = Field(
        (), description="comma-separated sources whose records cannot change: a new content of a record fails"
    )
    embedder: str = Field("offline", description=f"the embedding provider: {', '.join(PROVIDERS)}")
    embedding_model: str = Field(
        "", description=f"the embedding model; empty: {PROVIDERS['gemini'].model}; local embedders have one model"
    )
    embedding_dimension: int = Field(
        ge=1,
        le=3072,
        description="length of the vectors, fixed when the schema is created; default: 768 with gemini, else fixed",
    )
    reranking_model: str = Field(
        "", description="Vertex AI ranking model that reorders results, such as semantic-ranker-fast-004; empty: none"
    )
    offline_statistics: str = Field(
        "", description="directory of the offline embedder's token counts; empty: tokens are not counted"
    )
    auth_mode: Literal["api_key", "oauth", "oidc", "iam", "none"] = Field(
        "api_key", description="how callers authenticate"
    )
    oidc_issuer: str = Field("", description="issuer of accepted tokens, with AUTH_MODE=oidc")
    oidc_audience: tuple[str, ...] = Field((), description="comma-separated audiences; a token must be for one of them")
    oidc_namespace_claim: str = Field("namespace", description="the claim of a token that holds the namespace")
    oauth_issuer: str = Field("", description="the URL of the auth function, with AUTH_MODE=oauth")
    oauth_resources: tuple[str, ...] = Field(
        (), description="comma-separated URLs of the MCP endpoint: the audiences of the tokens"
    )
    oauth_signing_key: str = Field(
        "", description="signing key of auth: projects/P/locations/L/keyRings/R/cryptoKeys/K, or file:///directory"
    )
    receipt_signing_key: str = Field("", description="signing key of receipts of forgettings, in the same form")
    kms_endpoint: str = Field("", description="URL of Cloud KMS, if it is not the public one")
    oauth_access_token_seconds: int = Field(
        ACCESS_TOKEN_SECONDS,
        ge=300,
        le=604_800,
        description="lifetime of access tokens; the tokens of a revoked grant end within 30 seconds",
    )
    oauth_people: tuple[PeopleRule, ...] = Field(
        (),
        description='log-in rules as JSON; the first match applies: [{"who": "@example.com", "namespace": "team", '
        '"scopes": ["read"]}]; `who` is an address, @domain, claim:value or *',
    )
    oauth_upstream_issuer: str = Field("https://accounts.google.com", description="OpenID provider where people log in")
    oauth_client_id: str = Field("", description="the client id of auth at that provider")
    oauth_client_secret: SecretStr | None = Field(None, description="the client secret of auth at that provider")
    oauth_log_in_codes: str = Field(
        "", description="file for log-in codes, which replace the provider on a local system"
    )
    audit_reads: float = Field(1.0, ge=0, le=1, description="share of reads that the audit trail records, from 0 to 1")
    audit_days: int = Field(400, ge=1, le=36_500, description="days that the audit trail is kept, set by `migrate`")
    rate_limit_per_minute: int = Field(
        600,
        ge=0,
        description="maximum units per principal, minute and instance; a simple request costs one; 0: no limit",
    )
    push_issuer: str = Field("https://accounts.google.com", description="issuer of the tokens on Pub/Sub pushes")
    push_audience: str = Field("", description="audience of the push subscription's tokens")
    push_service_account: tuple[str, ...] = Field(
        (), description="comma-separated e-mails of the service accounts that may push messages and check the function"
    )
    push_secret: SecretStr | None = Field(
        None, description="shared secret of pushes, which replaces their tokens on a local system"
    )
    trusted_proxies: int | None = Field(
        None,
        ge=0,
        le=10,
        description="number of addresses after the caller's address in X-Forwarded-For; default on Cloud Run: 0",
    )
    runtime_users: tuple[str, ...] = Field(
        (), description="comma-separated FUNCTION=USER: `mnemosyne migrate` grants each user the function's role"
    )
    k_service: str = Field("", description="set by Cloud Run")
    allowed_hosts: tuple[str, ...] = Field(
        tuple(_LOOPBACK_HOSTS.split(",")),
        description="comma-separated accepted Host headers; `name:*` is any port, `*` any host",
    )
    allowed_origins: tuple[str, ...] = Field(
        (),
        description="comma-separated accepted Origin headers besides the server's own; `http://name:*` is any port",
    )
    google_genai_use_vertexai: bool = Field(
        False, description="use Vertex AI with default credentials instead of an API key"
    )
    google_cloud_project: str = Field("", description="the project for Vertex AI and for trace ids in the log")
    google_cloud_location: str = Field("", description="the Vertex AI region")
    otel_exporter_otlp_endpoint: str = Field(
        "", description="URL of an OpenTelemetry collector; empty: no telemetry is exported"
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    @field_validator("oauth_issuer")
    @classmethod
    def _without_slash(cls, value: str) -> str:
        """Remove a slash at the end, because the issuer must be the same text in tokens and in metadata (RFC 8414)."""
        return value.rstrip("/")

    @field_validator("oauth_people", mode="before")
    @classmethod
    def _parse_people(cls, value: str) -> tuple[PeopleRule, ...]:
        try:
            return tuple(PeopleRule.of(rule) for rule in json.loads(value))
        except (ValueError, TypeError) as exc:
            raise ValueError(f"must be a JSON array of rules: {exc}") from exc

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read the settings. Raises Misconfigured with all problems."""
        values = {name: value for name in cls.model_fields if (value := environment.get(variable(name), "").strip())}
        if "k_service" in values:
            values.setdefault("trusted_proxies", "0")
        provider = PROVIDERS.get(values.get("embedder", "offline"))
        if provider is not None:
            values.setdefault("embedding_dimension", str(provider.dimension))
        problems = list(_find_contradictions(values))
        try:
            settings = cls.model_validate({name: _parse_value(name, value) for name, value in values.items()})
        except ValidationError as exc:
            problems = [*(_problem_message(dict(error)) for error in exc.errors()), *problems]
            raise Misconfigured("settings: " + "; ".join(problems)) from exc
        if problems:
            raise Misconfigured("settings: " + "; ".join(problems))
        return settings


def unknown_variables(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the variables that begin with `MNEMOSYNE_` but are not settings, for example misspelt ones."""
    variables = {variable(name) for name in Settings.model_fields} | set(OF_CLIENTS)
    return sorted(name for name in environment if name.startswith(PREFIX) and name not in variables)


def variable(name: str) -> str:
    """Return the name of a field's environment variable."""
    return name.upper() if name.startswith(("google_", "k_", "otel_")) else PREFIX + name.upper()


def _parse_value(name: str, value: str) -> object:
    is_list = Settings.model_fields[name].annotation == tuple[str, ...]
    return _split_list(value) if is_list else value


def _split_list(value: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in value.split(",") if item.strip())


def _find_contradictions(values: Mapping[str, str]) -> Iterator[str]:
    """Yield a message for each missing, redundant or contradictory variable."""
    url, instance = values.get("database_url", ""), values.get("instance_connection_name", "")
    if bool(url) == bool(instance):
        yield (
            "set exactly one of MNEMOSYNE_DATABASE_URL and MNEMOSYNE_INSTANCE_CONNECTION_NAME, "
            f"{'both are' if url else 'neither is'} set"
        )
    if url and not url.startswith(("postgresql://", "postgres://")):
        yield "MNEMOSYNE_DATABASE_URL must start with postgresql://"
    if url and split_uri(url) is None:
        yield "MNEMOSYNE_DATABASE_URL must have a number as its port, or none"
    if url:
        for name in ("db_name", "db_user", "db_password", "db_iam_auth", "db_ip_type", "sqladmin_endpoint"):
            if name in values:
                yield f"{PREFIX}{name.upper()} belongs to a Cloud SQL instance and has no effect with a URL"
    if instance:
        yield from _instance_problems(values, instance)
    topic = values.get("topic", "")
    if topic and not _TOPIC.fullmatch(topic):
        yield f"MNEMOSYNE_TOPIC must be projects/P/topics/T or file:///path, got {topic!r}"
    outcomes = values.get("outcome_topic", "")
    if outcomes and not re.fullmatch(r"projects/[^/]+/topics/[^/]+", outcomes):
        yield f"MNEMOSYNE_OUTCOME_TOPIC must be projects/P/topics/T, got {outcomes!r}"
    if outcomes and outcomes == topic:
        yield "MNEMOSYNE_OUTCOME_TOPIC must be another topic than MNEMOSYNE_TOPIC: outcomes would be ingested"
    collector = values.get("otel_exporter_otlp_endpoint", "")
    if collector and not collector.startswith(("http://", "https://")):
        yield f"OTEL_EXPORTER_OTLP_ENDPOINT must start with http:// or https://, got {collector!r}"
    for entry in _split_list(values.get("runtime_users", "")):
        if "=" in entry and entry.partition("=")[0] not in FUNCTIONS:
            yield f"MNEMOSYNE_RUNTIME_USERS must have one of {', '.join(FUNCTIONS)} before =, got {entry!r}"
    if "reranking_model" in values and "google_cloud_project" not in values:
        yield "GOOGLE_CLOUD_PROJECT is not set, but MNEMOSYNE_RERANKING_MODEL needs a project"
    yield from _auth_problems(values)
    yield from _embedding_problems(values)


def _embedding_problems(values: Mapping[str, str]) -> Iterator[str]:
    name, model = values.get("embedder", "offline"), values.get("embedding_model", "")
    provider = PROVIDERS.get(name)
    if provider is None:
        yield f"MNEMOSYNE_EMBEDDER must be one of {', '.join(PROVIDERS)}, got {name!r}"
        return
    if not provider.is_fixed:
        if model and not model.startswith(provider.model_prefix):
            yield (
                f"MNEMOSYNE_EMBEDDING_MODEL must be the name of a model of {name}, such as {provider.model}, got "
                f"{model!r}"
            )
        return
    if model:
        yield f"MNEMOSYNE_EMBEDDING_MODEL has no effect with MNEMOSYNE_EMBEDDER={name}, which has one model"
    if values["embedding_dimension"] != str(provider.dimension):
        yield (
            f"MNEMOSYNE_EMBEDDING_DIMENSION must be {provider.dimension} with MNEMOSYNE_EMBEDDER={name}, got "
            f"{values['embedding_dimension']!r}"
        )


def _instance_problems(values: Mapping[str, str], instance: str) -> Iterator[str]:
    if not _INSTANCE.fullmatch(instance):
        yield f"MNEMOSYNE_INSTANCE_CONNECTION_NAME must be project:region:instance, got {instance!r}"
    for name in ("db_name", "db_user"):
        if name not in values:
            yield f"{PREFIX}{name.upper()} is not set ({Settings.model_fields[name].description})"
    iam = values.get("db_iam_auth", "true").lower() in ("true", "1", "yes", "on")
    if iam and "db_password" in values:
        yield "MNEMOSYNE_DB_PASSWORD is set, but IAM uses no password: unset it, or set MNEMOSYNE_DB_IAM_AUTH=false"
    if not iam and "db_password" not in values:
        yield "MNEMOSYNE_DB_IAM_AUTH is false, so MNEMOSYNE_DB_PASSWORD must be set"


def _auth_problems(values: Mapping[str, str]) -> Iterator[str]:
    mode = values.get("auth_mode", "api_key")
    for name in ("oidc_issuer", "oidc_audience"):
        if (name in values) != (mode == "oidc"):
            yield f"{variable(name)} {'is' if name in values else 'is not'} set, but MNEMOSYNE_AUTH_MODE is {mode}"
    for name in ("oauth_issuer", "oauth_resources"):
        if mode == "oauth" and name not in values:
            yield f"{variable(name)} is not set, but MNEMOSYNE_AUTH_MODE is oauth"
    if mode == "oidc" and not values.get("oidc_issuer", "https://").startswith(("https://", "http://127.0.0.1:")):
        yield "MNEMOSYNE_OIDC_ISSUER must start with https://"
    others = set(_split_list(values.get("allowed_hosts", ""))) - set(_LOOPBACK_HOSTS.split(","))
    if mode == "none" and ("k_service" in values or others):
        yield "MNEMOSYNE_AUTH_MODE=none lets anyone read and write everything: it is allowed on loopback hosts only"
    if mode == "iam" and "k_service" not in values and others:
        yield ("MNEMOSYNE_AUTH_MODE=iam relies on Cloud Run to check callers: elsewhere it needs loopback hosts")
    if ("push_audience" in values) != ("push_service_account" in values):
        yield "set both of MNEMOSYNE_PUSH_AUDIENCE and MNEMOSYNE_PUSH_SERVICE_ACCOUNT, or neither"


def _problem_message(error: dict[str, object]) -> str:
    location = error["loc"]
    name = str(location[0]) if isinstance(location, tuple) and location else ""
    if error["type"] == "missing":
        return f"{variable(name)} is not set ({Settings.model_fields[name].description})"
    got = "" if name == "oauth_people" else f", got {'a secret' if name in _SECRETS else repr(error['input'])}"
    return f"{variable(name)}: {str(error['msg']).removeprefix('Value error, ')}{got}"
