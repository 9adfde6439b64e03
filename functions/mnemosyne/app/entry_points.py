"""Build the app of each entry point from the settings, with the app's adapters and middleware."""

from collections.abc import Callable
from functools import lru_cache, partial, wraps
from typing import TYPE_CHECKING, Any

from mnemosyne.app.container import ConfiguredServices, connection_factory_for
from mnemosyne.app.deferred_packages import defer
from mnemosyne.domain.timeouts import STATEMENT_SECONDS
from mnemosyne.errors import Misconfigured
from mnemosyne.observability import EventLog, configure_logging
from mnemosyne.ports.services import Services
from mnemosyne.settings import Settings, unknown_variables

if TYPE_CHECKING:
    from starlette.routing import Route

    from mnemosyne.domain.health import Check
    from mnemosyne.domain.principal import ApiKey
    from mnemosyne.http.common.lifespan import LifespanApp
    from mnemosyne.http.mcp.access import Access
    from mnemosyne.service.authenticate import Authenticator
    from mnemosyne.service.deliveries import Push

log = EventLog(__name__)

STDIO_THREADS = 8
SEARCH_SECONDS = 5
"""Timeout in seconds of a database statement for an agent's call. A longer statement would delay other agents."""
IMPORT_THREADS = 2


@lru_cache(maxsize=1)
def configured_services(statement_seconds: int = STATEMENT_SECONDS) -> ConfiguredServices:
    """Return the process's services, built from its environment. Raises Misconfigured."""
    configure_logging("INFO")  # needed before the settings are read, because errors in them are logged
    settings = Settings.from_environment()
    configure_logging(settings.log_level, project=settings.google_cloud_project)
    if unknown := unknown_variables():
        log.warning(
            "settings_unknown",
            variables=unknown,
            cause="the named environment variables are not settings, so they have no effect",
            error=", ".join(unknown),
            next_step="correct or remove them (docs/settings.md), then run `make deploy`",
        )
    if settings.otel_exporter_otlp_endpoint:
        from mnemosyne.adapters.telemetry import export

        export(settings.k_service or "mnemosyne")
    return ConfiguredServices(settings, statement_seconds=statement_seconds)


def _build_access(services: ConfiguredServices) -> "Access":
    from mnemosyne.http.mcp.access import Access

    settings = services.settings
    return Access(
        _build_authenticator(services),
        per_minute=settings.rate_limit_per_minute,
        issuer=settings.oauth_issuer or settings.oidc_issuer,
        allowed_hosts=settings.allowed_hosts,
        proxies=settings.trusted_proxies,
    )


def _build_authenticator(services: ConfiguredServices) -> "Authenticator":
    from mnemosyne.service import authenticate

    settings = services.settings
    if settings.auth_mode == "none":
        return authenticate.NoAuthenticator()
    if settings.auth_mode == "api_key":
        return _build_api_key_authenticator(services)
    from mnemosyne.adapters.identity.tokens import OidcVerifier, decode_unverified

    if settings.auth_mode == "oauth":
        from mnemosyne.adapters.database.oauth import find_valid_grant
        from mnemosyne.ports.identity import ACCESS_TOKEN
        from mnemosyne.service.oauth_tokens import OAuthAuthenticator

        verifier = OidcVerifier(settings.oauth_issuer, *settings.oauth_resources, token_type=ACCESS_TOKEN)
        return OAuthAuthenticator(
            _build_api_key_authenticator(services), verifier, lambda grant: find_valid_grant(services.pool, grant)
        )
    if settings.auth_mode == "iam":
        return authenticate.CloudRunIamAuthenticator(decode_unverified)
    return authenticate.OidcAuthenticator(
        OidcVerifier(settings.oidc_issuer, *settings.oidc_audience), settings.oidc_namespace_claim
    )


def _build_api_key_authenticator(services: ConfiguredServices) -> "Authenticator":
    from mnemosyne.service import authenticate

    def find(key_id: str) -> "ApiKey | None":
        from mnemosyne.adapters.database.api_keys import find_api_key

        return find_api_key(services.pool, key_id)

    return authenticate.ApiKeyAuthenticator(find, services.clock)


def _push_verifier(settings: Settings, *, checked: bool = True) -> "Callable[[str | None], None]":
    """Return a function that checks the sender of a push by the push's Authorization header.

    The function raises Unauthorized if the push does not come from this deployment. With `checked`, the function also
    accepts a token whose signature Cloud Run has checked and removed. If the settings have neither a secret nor an
    audience, the function accepts every push. On Cloud Run, however, such settings raise Misconfigured.
    """
    if settings.push_secret:
        from mnemosyne.service.callers import check_secret

        return partial(check_secret, settings.push_secret.get_secret_value())
    if not settings.push_audience:
        if settings.k_service:
            raise Misconfigured(
                "MNEMOSYNE_PUSH_AUDIENCE and MNEMOSYNE_PUSH_SERVICE_ACCOUNT are not set: on Cloud Run the "
                "function must check that each push comes from its subscription"
            )
        return lambda authorization: None
    from mnemosyne.adapters.identity.tokens import OidcVerifier
    from mnemosyne.service.callers import check_push

    verifier = OidcVerifier(settings.push_issuer, settings.push_audience, service=settings.k_service if checked else "")
    return partial(check_push, verifier, settings.push_service_account)


def _entry_point(build: Callable[[], Any], *, explains: bool = False) -> "Callable[[], LifespanApp]":
    """Decorate a function that builds an app, so that the app is built at the first request and not at the start."""

    @lru_cache(maxsize=1)
    @wraps(build)
    def app() -> "LifespanApp":
        from mnemosyne.http.common.lifespan import LifespanApp

        return LifespanApp(build, explains=explains)

    return app


@_entry_point
def mcp_app() -> Any:
    """Return the app of the `mcp` function."""
    # `defer` delays the `__init__` of these packages. Otherwise importing the low-level server of the MCP SDK would
    # also import the SDK's client and its class MCPServer. They would take a tenth of the time to the first response.
    defer("mcp", "mcp.server")
    from mnemosyne.http.mcp.app import build_app

    services = configured_services(SEARCH_SECONDS)
    _record_accesses(services)
    return build_app(
        services,
        threads=services.settings.db_pool_size,
        access=_build_access(services),
        allowed_origins=services.settings.allowed_origins,
        warm=services.warm,
        examine=lambda: _run_deep_checks(services),
        canary=_build_canary_route(services),
    )


def _record_accesses(services: ConfiguredServices) -> None:
    """Start to record the tool calls of this process in the audit trail."""
    from mnemosyne.adapters.database.audit_trail import AuditTrail

    AuditTrail(lambda: services.pool, reads=services.settings.audit_reads).start()


def _run_deep_checks(services: ConfiguredServices, *, embeds: bool = True) -> "list[Check]":
    from mnemosyne.app import doctor

    return list(doctor.examine_dependencies(services, embeds=embeds))


def _build_canary_route(services: ConfiguredServices) -> "Route | None":
    """Build the route that an uptime check calls to test the deployment.

    Returns None if the settings have neither an audience nor a secret with which a caller could be authenticated.
    """
    from mnemosyne.http.common.health import canary_route
    from mnemosyne.service.canary import check_canary

    settings = services.settings
    if not settings.push_audience and not settings.push_secret:
        return None

    def check() -> "list[Check]":
        checks = _run_deep_checks(services)
        return [*checks, check_canary(services)] if all(check.ok for check in checks) else checks

    # Accept a token without its signature only if AUTH_MODE is iam, because only then does Cloud Run check the
    # signatures of tokens. In the other modes, Cloud Run also admits calls without a token.
    return canary_route(check, _push_verifier(settings, checked=settings.auth_mode == "iam"))


@_entry_point
def ingest_app() -> Any:
    """Return the app of the `ingest` function."""
    from mnemosyne.service.deliveries import store
    from mnemosyne.service.group_commit import GroupCommit

    return _build_push_app(partial(store, group_commit=GroupCommit()), warm=ConfiguredServices.warm)


@_entry_point
def dead_letter_app() -> Any:
    """Return the app of the `dead_letter` function. It loads the embedder only when needed, which happens rarely."""
    from mnemosyne.service.deliveries import give_up

    return _build_push_app(give_up)


@_entry_point
def import_object_app() -> Any:
    """Return the app of the `import_object` function. It has few threads, because each import needs much RAM."""
    from mnemosyne.service.deliveries import import_object

    return _build_push_app(import_object, threads=IMPORT_THREADS, embeds=False)


def _build_push_app(
    handle: "Callable[[Push, Any], None]",
    *,
    threads: int | None = None,
    embeds: bool = True,
    warm: Callable[[ConfiguredServices], None] = lambda services: None,
) -> Any:
    """Build the app of a cloud function to which Pub/Sub pushes messages.

    By default, the app has one thread for each database connection.
    """
    from mnemosyne.http.push import build_app

    services = configured_services()
    return build_app(
        handle,
        services,
        threads=threads or services.settings.db_pool_size,
        warm=partial(warm, services),
        identify=_push_verifier(services.settings),
        examine=lambda: _run_deep_checks(services, embeds=embeds),
    )


@_entry_point
def auth_app() -> Any:
    """Return the app of the `auth` function, the authorization server."""
    from mnemosyne.app.authorization import flow_and_clients
    from mnemosyne.http.auth.app import build_app
    from mnemosyne.http.auth.call import Gateway

    services = configured_services(SEARCH_SECONDS)
    _record_accesses(services)
    flow, clients = flow_and_clients(services.settings, services.pool)
    return build_app(flow, clients, Gateway(flow.issuer.url, services.settings.trusted_proxies))


@partial(_entry_point, explains=True)
def migrate_app() -> Any:
    """Return the app of the `migrate` function, which runs as the schema's owner."""
    from mnemosyne.app.migrate import deploy, log_failure
    from mnemosyne.app.operations import run_operations
    from mnemosyne.app.operator import announce_changes, expire_memories
    from mnemosyne.http.admin.app import build_app

    settings = configured_services().settings
    return build_app(
        partial(deploy, settings),
        run_operations(settings),
        expire=partial(expire_memories, connection_factory_for(settings)),
        announce=partial(announce_changes, settings),
        identify=_push_verifier(settings),
        report=log_failure,
    )


async def serve_stdio(services: Services) -> None:
    """Serve the tools over standard input and output until the input ends."""
    from mnemosyne.domain.principal import LOCAL
    from mnemosyne.mcp import stdio
    from mnemosyne.mcp.server import build_server
    from mnemosyne.mcp.thread_limiter import ThreadLimiter

    await stdio.serve(build_server(services, database=ThreadLimiter(STDIO_THREADS), principal=LOCAL))
