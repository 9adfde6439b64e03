"""Wire the functions: each entry point's app, from the settings, the adapters they choose and the edges in front."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mnemosyne.backends import STATEMENT_SECONDS, Backends, embedding_space, session_opener
from mnemosyne.domain.health import Check
from mnemosyne.errors import Misconfigured, Unavailable
from mnemosyne.observability import EventLog, configure_logging
from mnemosyne.ports import Services
from mnemosyne.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from mnemosyne.adapters.migrations import Migration
    from mnemosyne.domain.memory import DeadLetter
    from mnemosyne.domain.principal import ApiKey
    from mnemosyne.http.access import Access
    from mnemosyne.http.hosting import Hosted
    from mnemosyne.service.authenticate import Authenticator

log = EventLog(__name__)

STDIO_THREADS = 8
SEARCH_SECONDS = 5
"""How long a statement of an agent's may take: one that takes longer is at the others' expense."""
IMPORT_THREADS = 2


def examine_database(parts: Backends) -> "Iterator[Check]":
    """Whether the database is there and fits; what `/health?deep=1` tells."""
    from mnemosyne.adapters.health import check_database

    try:
        with parts.pool.session() as session:
            yield from check_database(session, migrations(), embedding_space(parts.settings))
    except Unavailable as exc:
        yield Check("database", str(exc), "check the database's address, that it runs, and who may reach it")
    except Misconfigured as exc:
        yield Check("database", str(exc), "correct the settings, or create the user or database they name")
    except Exception as exc:  # whatever it is: a check that cannot be made is not passed
        log.exception("examination_crashed")
        yield Check("database", f"{type(exc).__name__}: {exc}", "let this user do what the functions do: see role")


def examine(parts: Backends) -> "Iterator[Check]":
    """Whether every part is there and fits; what `mnemosyne doctor` tells."""
    from mnemosyne.adapters.health import check_embedder, check_queue, check_role

    database = list(examine_database(parts))
    yield from database
    if all(check.ok for check in database):
        with parts.pool.session() as session:
            yield check_role(session)
    yield check_queue(parts.queue)
    yield check_embedder(parts.embedder_of(embedding_space(parts.settings)))
    yield from _examine_authentication(parts, database_ok=all(check.ok for check in database))


def _examine_authentication(parts: Backends, *, database_ok: bool) -> "Iterator[Check]":
    from mnemosyne.adapters.api_keys import PostgresApiKeys
    from mnemosyne.adapters.health import check_api_keys, check_issuer
    from mnemosyne.adapters.tokens import OidcVerifier

    settings = parts.settings
    match settings.auth_mode:
        case "none":
            yield Check("authentication", "none: whoever calls from this machine")
        case "iam":
            yield Check("authentication", "iam: Cloud Run checks who calls")
        case "oidc":
            yield check_issuer(OidcVerifier(settings.oidc_issuer, settings.oidc_audience), settings.oidc_issuer)
        case "api_key" if database_ok:
            yield check_api_keys(PostgresApiKeys(parts.pool))


@lru_cache(maxsize=1)
def backends(statement_seconds: int = STATEMENT_SECONDS) -> Backends:
    """The process's backends, from its environment; raises Misconfigured."""
    settings = Settings.from_environment()
    configure_logging(settings.log_level)
    if settings.otel_exporter_otlp_endpoint:
        from mnemosyne.adapters.telemetry import export

        export(settings.k_service or "mnemosyne")
    return Backends(settings, statement_seconds=statement_seconds)


def _access(parts: Backends) -> "Access":
    from mnemosyne.http.access import Access

    settings = parts.settings
    return Access(
        _authenticator(parts),
        per_minute=settings.rate_limit_per_minute,
        issuer=settings.oidc_issuer,
        allowed_hosts=settings.allowed_hosts,
        proxies=settings.trusted_proxies,
    )


def _authenticator(parts: Backends) -> "Authenticator":
    from mnemosyne.service import authenticate

    settings = parts.settings
    if settings.auth_mode == "none":
        return authenticate.Anyone()
    if settings.auth_mode == "api_key":

        def find(key_id: str) -> "ApiKey | None":
            from mnemosyne.adapters.api_keys import PostgresApiKeys

            return PostgresApiKeys(parts.pool).find(key_id)

        return authenticate.ApiKeys(find, parts.clock)
    from mnemosyne.adapters.tokens import OidcVerifier, checked_elsewhere

    if settings.auth_mode == "iam":
        return authenticate.CloudRunIam(checked_elsewhere)
    return authenticate.Oidc(OidcVerifier(settings.oidc_issuer, settings.oidc_audience), settings.oidc_namespace_claim)


def _push_identity(settings: Settings) -> "Callable[[str | None], None]":
    """What checks that a push is our subscription's; raises Misconfigured where it would have to and cannot."""
    if settings.push_secret:
        from mnemosyne.service.authenticate import SharedSecret

        return SharedSecret(settings.push_secret.get_secret_value()).check
    if not settings.push_audience:
        if settings.k_service:
            raise Misconfigured(
                "MNEMOSYNE_PUSH_AUDIENCE and MNEMOSYNE_PUSH_SERVICE_ACCOUNT are not set: on Cloud Run each push must "
                "be shown to come from our subscription"
            )
        return lambda authorization: None
    from mnemosyne.adapters.tokens import OidcVerifier
    from mnemosyne.service.authenticate import PushIdentity

    verifier = OidcVerifier(settings.push_issuer, settings.push_audience, service=settings.k_service)
    return PushIdentity(verifier, settings.push_service_account).check


def new_key(**fields: "Any") -> "tuple[ApiKey, str]":
    """A new API key and its bearer token."""
    from mnemosyne.service import authenticate

    return authenticate.new_key(**fields)


def shown_key(key: "ApiKey") -> dict[str, Any]:
    """An API key as it may be shown."""
    from mnemosyne.http.migrate import shown

    return shown(key)


@lru_cache(maxsize=1)
def mcp_app() -> "Hosted":
    """The `mcp` function."""
    from mnemosyne.http.hosting import Hosted

    def build() -> Any:
        from mnemosyne.http.app import build_app
        from mnemosyne.mcp.server import build_server

        parts = backends(SEARCH_SECONDS)
        return build_app(
            build_server(parts, threads=parts.settings.db_pool_size),
            access=_access(parts),
            allowed_hosts=parts.settings.allowed_hosts,
            allowed_origins=parts.settings.allowed_origins,
            warm=parts.warm,
            examine=lambda: list(examine_database(parts)),
        )

    return Hosted(build)


@lru_cache(maxsize=1)
def ingest_app() -> "Hosted":
    """The `ingest` function."""
    from mnemosyne.http.hosting import Hosted

    def build() -> Any:
        from mnemosyne.http.push import build_app, store

        parts = backends()
        return build_app(
            store, parts, threads=parts.settings.db_pool_size, warm=parts.warm, identify=_push_identity(parts.settings)
        )

    return Hosted(build)


@lru_cache(maxsize=1)
def dead_letter_app() -> "Hosted":
    """The `dead_letter` function; it embeds nothing, so nothing is warmed."""
    from mnemosyne.http.hosting import Hosted

    def build() -> Any:
        from mnemosyne.http.push import build_app, bury

        parts = backends()
        identify = _push_identity(parts.settings)
        return build_app(bury, parts, threads=parts.settings.db_pool_size, warm=lambda: None, identify=identify)

    return Hosted(build)


@lru_cache(maxsize=1)
def import_object_app() -> "Hosted":
    """The `import_object` function: an object at a time takes an instance's memory, so there are few threads."""
    from mnemosyne.http.hosting import Hosted

    def build() -> Any:
        from mnemosyne.http.push import build_app, import_object

        parts = backends()
        identify = _push_identity(parts.settings)
        return build_app(import_object, parts, threads=IMPORT_THREADS, warm=lambda: None, identify=identify)

    return Hosted(build)


@lru_cache(maxsize=1)
def migrate_app() -> "Hosted":
    """The `migrate` function, under the identity of the schema's owner."""
    from mnemosyne.http.hosting import Hosted

    def build() -> Any:
        from mnemosyne.adapters.api_keys import ApiKeyKeeper
        from mnemosyne.adapters.quotas import QuotaKeeper
        from mnemosyne.http.migrate import build_app

        settings = backends().settings
        opener = session_opener(settings)
        migrated = lambda: [f"{one.version:04} {one.name}" for one in migrate(settings)]  # noqa: E731
        return build_app(migrated, ApiKeyKeeper(opener), QuotaKeeper(opener), identify=_push_identity(settings))

    return Hosted(build)


def migrate(settings: Settings) -> "list[Migration]":
    """Apply the migrations that are missing, let the functions' users in, and return what was applied."""
    from mnemosyne.adapters import migrations as adapter

    session = session_opener(settings, patient=True)()
    try:
        applied = adapter.migrate(session, migrations(), space=embedding_space(settings))
        adapter.admit(session, settings.runtime_users)
    finally:
        session.close()
    return applied


def carried(namespace: str, letter: "DeadLetter") -> "list[UUID]":
    """The requests of a dead letter."""
    from mnemosyne.service import ingest

    return ingest.carried(namespace, letter)


def redrive(namespace: str, letter: "DeadLetter", services: Services, *, into: str | None = None) -> None:
    """Put a dead letter back on the queue."""
    from mnemosyne.service import ingest

    ingest.redrive(namespace, letter, memories=services.memories, queue=services.queue, into=into)


async def serve_stdio(services: Services) -> None:
    """Serve the tools over standard input and output until the input ends."""
    from mnemosyne.domain.principal import LOCAL
    from mnemosyne.mcp import stdio
    from mnemosyne.mcp.server import build_server

    await stdio.serve(build_server(services, threads=STDIO_THREADS, caller=LOCAL))


def migrations() -> "list[Migration]":
    """The schema's migrations: beside `main.py` in the deployed archive, in `infra/` of a working copy."""
    from mnemosyne.adapters.migrations import read

    functions = Path(__file__).resolve().parents[1]
    places = (functions / "migrations", functions.parent / "infra" / "migrations")
    return read(next((place for place in places if place.is_dir()), places[-1]))
