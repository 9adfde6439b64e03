"""Check the settings, database, queue, embedder, reranker and authentication of a system.

The checks change nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from mnemosyne.adapters import service_error_tables, service_errors
from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.api_keys import find_api_key
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.memory_database import read_embedding_space
from mnemosyne.adapters.database.migrations import SchemaFile, schema_files
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.database.rows import text_array
from mnemosyne.adapters.database.server_errors import error_fields
from mnemosyne.adapters.database.statements import Row
from mnemosyne.adapters.identity.tokens import OidcVerifier
from mnemosyne.app.container import ConfiguredServices, embedding_space
from mnemosyne.domain.embedding_space import REMEDY, EmbeddingSpace, Languages, how_to_select, language_warning
from mnemosyne.domain.health import Check
from mnemosyne.errors import InvalidRequest, Misconfigured, ServiceError, Unavailable
from mnemosyne.observability import EventLog
from mnemosyne.ports.embedder import Embedder, Reranker
from mnemosyne.ports.queue import IngestQueue
from mnemosyne.settings import unknown_variables

log = EventLog(__name__)

OLDEST_POSTGRESQL = 15
OLDEST_PGVECTOR = (0, 8)
MIGRATE = (
    "run `mnemosyne migrate --project MY-PROJECT`, which applies the migrations; without Terraform, `mnemosyne migrate`"
)

_GRANTS: Final = "run `mnemosyne migrate --project MY-PROJECT`, which grants the role; without Terraform, run:"

_OTHER_ROLE: Final = (
    "run `make deploy`, which gives each function its own role; without Terraform, set MNEMOSYNE_DB_USER or "
    "MNEMOSYNE_DATABASE_URL to a role that does not own the schema and has no BYPASSRLS"
)

_UNREACHABLE: Final = (
    "check the database's address, that it runs, and who may reach it; otherwise look up the cause in docs/runbook.md"
)

_SERVER: Final = """
SELECT CAST(current_setting('server_version_num') AS integer) / 10000 AS version,
    CAST(current_setting('transaction_read_only') AS boolean) AS read_only,
    (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector
"""
_MAY_READ_LANGUAGES: Final = "SELECT has_function_privilege('all_languages()', 'EXECUTE') AS allowed"
_LANGUAGES: Final = "SELECT sampled, languages FROM all_languages()"
_ROLES: Final = """
SELECT coalesce(r.rolname, wanted.name) AS name, r.oid IS NOT NULL AS exists,
    r.rolsuper OR r.rolbypassrls AS bypasses, EXISTS (
        SELECT FROM pg_roles own WHERE pg_has_role(r.oid, own.oid, 'MEMBER') AND own.rolname IN (
            'mnemosyne_runtime', 'mnemosyne_mcp', 'mnemosyne_ingest', 'mnemosyne_dead_letter',
            'mnemosyne_import_object', 'mnemosyne_auth'
        )
    ) AS is_member,
    EXISTS (SELECT FROM pg_class c WHERE c.oid = to_regclass('memories') AND c.relowner = r.oid) AS is_owner
FROM unnest(coalesce(CAST(:names AS text[]), ARRAY[CAST(current_user AS text)])) WITH ORDINALITY AS wanted (name, place)
LEFT JOIN pg_roles r ON r.rolname = wanted.name
ORDER BY wanted.place
"""


def check_database(
    connection: Connection, files: Sequence[SchemaFile], expected: EmbeddingSpace | None
) -> Iterator[Check]:
    """Check PostgreSQL, pgvector, the schema and the embedding space. Raises Unavailable if the connection is lost."""
    server = connection.one(_SERVER)
    version, vector = server["version"], server["vector"]
    old = version < OLDEST_POSTGRESQL
    yield Check("postgresql", f"version {version}", f"use PostgreSQL {OLDEST_POSTGRESQL} or newer" if old else None)
    if server["read_only"] and (rule := service_errors.find(service_error_tables.DATABASE, "25006")):
        yield Check("postgresql", rule.cause, rule.next_step)
    yield _check_pgvector(vector)
    try:
        # With `allow_later`, SQL functions of a later version of Mnemosyne are allowed: during an upgrade and after a
        # rollback, this Python code works with them.
        missing = [file for file in migrations.status(connection, files, allow_later=True) if file.applied_at is None]
    except Misconfigured as exc:
        yield Check("schema", str(exc), "deploy the version that applied these migrations")
        return
    if missing:
        yield Check("schema", f"{len(missing)} of {len(files)} files of the schema are not applied", MIGRATE)
        return
    yield Check("schema", f"at migration {[file.label for file in files if file.version is not None][-1]}")
    try:
        space = read_embedding_space(connection, expected)
        remedy = None if expected in (None, space) else how_to_select(space)
        yield Check("embedding space", str(space), remedy, is_warning=remedy is not None)
    except Misconfigured as exc:
        yield Check("embedding space", exc.cause, exc.next_step)


def check_role(connection: Connection, users: Sequence[str] = ()) -> Check:
    """Check that row-level security applies to the database users of the cloud functions.

    The role of `connection` is checked first. If row-level security does not apply to it, for example because it owns
    the schema, the functions' database users (`users`) are checked instead. Without `users`, the result is a warning.
    """
    role = connection.one(_ROLES, names=None)
    if not role["bypasses"] and not role["is_owner"]:
        return _check_row_security(role)
    if not users:
        return Check(
            "role",
            f"{role['name']} owns the schema and is not bound by row-level security",
            "use it for operators' commands only; the functions must log in as other roles",
            is_warning=True,
        )
    checks = [_check_row_security(row) for row in connection.run(_ROLES, names=text_array(users))]
    failed_check = next((check for check in checks if not check.ok), None)
    return failed_check or Check("role", f"{', '.join(users)}: bound by row-level security")


def _check_row_security(role: Row) -> Check:
    """Check that row-level security applies to a role."""
    user = role["name"]
    if not role["exists"]:
        return Check("role", f"{user} does not exist", "run `make deploy`, which creates the user")
    if role["bypasses"] or role["is_owner"]:
        return Check("role", f"{user} is not bound by row-level security", _OTHER_ROLE)
    if not role["is_member"]:
        return Check("role", f"{user} has no rights", f'{_GRANTS} GRANT mnemosyne_runtime TO "{user}"')
    return Check("role", f"{user}: bound by row-level security")


def check_languages(connection: Connection, provider: str) -> Check:
    """Warn if many memories are in languages that the embedder does not know."""
    if not connection.one(_MAY_READ_LANGUAGES)["allowed"]:
        return Check("languages", "not checked: the role may not read them")
    row = connection.one(_LANGUAGES)
    warning = language_warning(Languages(sampled=row["sampled"], memories=row["languages"]), provider)
    if warning:
        return Check("languages", warning, REMEDY, is_warning=True)
    counts = sorted(row["languages"].items(), key=lambda item: (-item[1], item[0]))
    languages = ", ".join(f"{language} {count:,}" for language, count in counts) or "none detected"
    return Check("languages", f"{languages}, of {row['sampled']:,} sampled memories")


def check_embedder(embedder: Embedder) -> Check:
    """Check that the embedder embeds a text."""
    try:
        vector = embedder.embed_query("Is anyone there?")
    except InvalidRequest as exc:
        return Check("embedder", str(exc), "run it again")
    except ServiceError as exc:
        return failed_check("embedder", exc, "wait for the service: nothing is lost, and searches use words only")
    return Check("embedder", f"{embedder.model} returns vectors of dimension {len(vector)}")


def check_reranker(reranker: Reranker) -> Check:
    """Check that the reranker answers. The check waits longer for the answer than a search does."""
    try:
        return Check("reranker", reranker.check())
    except ServiceError as exc:
        return failed_check("reranker", exc, "wait for the service: searches are answered without it")


def check_queue(queue: IngestQueue) -> Check:
    """Check that requests can be published."""
    try:
        return Check("topic", queue.check())
    except ServiceError as exc:
        return failed_check("topic", exc, "check the network route to it")


def failed_check(name: str, exc: ServiceError, otherwise: str, *, detail: str = "") -> Check:
    """Return a failed check for an error. Its remedy is the error's next step or, if there is none, `otherwise`."""
    detail = exc.detail or detail
    cause = f"{exc.cause} ({detail})" if detail else exc.cause
    return Check(name, cause, exc.next_step or otherwise)


def check_issuer(verifier: OidcVerifier, issuer: str, mode: str = "oidc") -> Check:
    """Check that the issuer's signing keys can be fetched."""
    try:
        return Check("authentication", f"{mode}: {issuer} signs with {verifier.check()} keys")
    except Unavailable as exc:
        remedy = f"check MNEMOSYNE_{mode.upper()}_ISSUER, and the network route to it"
        return Check("authentication", f"{mode}: {issuer}: {exc}", remedy)


def check_api_keys(pool: Pool) -> Check:
    """Check that API keys can be looked up in the database."""
    try:
        find_api_key(pool, "none")
    except ServiceError as exc:
        return Check("authentication", f"api_key: {exc}", "see the database's checks")
    return Check("authentication", "api_key: keys can be looked up")


def _check_pgvector(version: str | None) -> Check:
    if version is None:
        return Check("pgvector", "not there", MIGRATE)
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_PGVECTOR:
        return Check("pgvector", f"version {version}", "run: ALTER EXTENSION vector UPDATE (0.8 or newer is needed)")
    return Check("pgvector", f"version {version}")


def _run_checks(services: ConfiguredServices, checks: Callable[[Connection], Iterable[Check]]) -> Iterator[Check]:
    """Run checks on a database connection. If they raise an error, yield a failed check with the name `database`."""
    try:
        with services.pool.connection() as connection:
            yield from checks(connection)
    except ServiceError as exc:
        # Show the message of `exc.__cause__`, the original exception: it contains the server's address and the reason.
        # The message of `exc` contains neither, because callers of the tools see it.
        is_unreachable = isinstance(exc, Unavailable) and not error_fields(exc)
        yield failed_check("database", exc, _UNREACHABLE, detail=str(exc.__cause__ or "") if is_unreachable else "")
    except Exception as exc:  # an unknown exception is reported as a failed check
        log.exception("examination_crashed")
        remedy = (
            "run `mnemosyne migrate --project MY-PROJECT`, which restores the schema and its rights; if this check "
            "fails again, open an issue"
        )
        yield Check("database", f"{type(exc).__name__}: {exc}", remedy)


def examine_database(services: ConfiguredServices) -> Iterator[Check]:
    """Check PostgreSQL, pgvector, the schema and the embedding space of the memories."""
    return _run_checks(services, lambda connection: check_database(connection, schema_files(), services.expected_space))


def examine_dependencies(services: ConfiguredServices, *, embeds: bool = True) -> Iterator[Check]:
    """Check the settings, the database and the services of a function, for `/health?deep=1`.

    The services are the embedder, if `embeds` is true, and the issuer of tokens, if there is one. The check of the
    database role fails for the owner of the schema, because row-level security does not apply to the owner.
    """
    yield check_settings()
    database = list(examine_database(services))
    yield from database
    if all(check.ok for check in database):
        yield from _run_checks(services, lambda connection: [_check_row_security(connection.one(_ROLES, names=None))])
    if embeds:
        yield _examine_embedder(services, database_ok=all(check.ok for check in database))
    if services.settings.auth_mode in ("oauth", "oidc"):
        yield from _examine_authentication(services, database_ok=False)


def check_settings() -> Check:
    """Warn about environment variables that have the prefix of settings but are not settings."""
    if unknown := unknown_variables():
        return Check("settings", f"unknown: {', '.join(unknown)}", "correct or remove them", is_warning=True)
    return Check("settings", "complete and consistent")


def _examine_embedder(services: ConfiguredServices, *, database_ok: bool) -> Check:
    """Check the embedder that the database names or, if the database does not work, the embedder in the settings."""
    try:
        embedder = services.embedder if database_ok else services.embedder_of(embedding_space(services.settings))
    except ServiceError as exc:
        return failed_check("embedder", exc, "see the database's checks")
    return check_embedder(embedder)


def examine(services: ConfiguredServices) -> Iterator[Check]:
    """Check the database, queue, embedder, reranker and authentication, for `mnemosyne doctor`."""
    database = list(examine_database(services))
    yield from database
    if all(check.ok for check in database):
        yield from _run_checks(services, partial(_check_users_and_languages, services))
    yield check_queue(services.queue)
    yield _examine_embedder(services, database_ok=all(check.ok for check in database))
    if services.reranker is not None:
        yield check_reranker(services.reranker)
    yield from _examine_authentication(services, database_ok=all(check.ok for check in database))


def _check_users_and_languages(services: ConfiguredServices, connection: Connection) -> Iterator[Check]:
    yield check_role(connection, [user.partition("=")[2] or user for user in services.settings.runtime_users])
    yield check_languages(connection, read_embedding_space(connection).provider)


def _examine_authentication(services: ConfiguredServices, *, database_ok: bool) -> Iterator[Check]:
    settings = services.settings
    match settings.auth_mode:
        case "none":
            yield Check("authentication", "none: every caller on this machine is accepted")
        case "iam":
            yield Check("authentication", "iam: Cloud Run checks callers")
        case "oidc":
            yield check_issuer(OidcVerifier(settings.oidc_issuer, *settings.oidc_audience), settings.oidc_issuer)
        case "oauth":
            verifier = OidcVerifier(settings.oauth_issuer, *settings.oauth_resources)
            yield check_issuer(verifier, settings.oauth_issuer, "oauth")
        case "api_key" if database_ok:
            yield check_api_keys(services.pool)
