"""Look whether the parts that a function leans on are there and fit together; changes nothing."""

from collections.abc import Iterator, Sequence
from typing import Final

from mnemosyne.adapters import migrations
from mnemosyne.adapters.api_keys import PostgresApiKeys
from mnemosyne.adapters.connections import Session
from mnemosyne.adapters.embedding_space import read_space
from mnemosyne.adapters.migrations import Migration
from mnemosyne.adapters.tokens import OidcVerifier
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.health import Check
from mnemosyne.errors import InvalidRequest, Misconfigured, Unavailable
from mnemosyne.ports import Embedder, IngestQueue

OLDEST_POSTGRESQL = 15
OLDEST_PGVECTOR = (0, 8)
MIGRATE = "run `mnemosyne migrate` as the role that owns the schema"

_SERVER: Final = """
SELECT CAST(current_setting('server_version_num') AS integer) / 10000,
    (SELECT extversion FROM pg_extension WHERE extname = 'vector')
"""
_ROLE: Final = """
SELECT current_user, r.rolsuper OR r.rolbypassrls, EXISTS (
        SELECT FROM pg_roles own WHERE pg_has_role(own.oid, 'MEMBER') AND own.rolname IN (
            'mnemosyne_runtime', 'mnemosyne_mcp', 'mnemosyne_ingest', 'mnemosyne_dead_letter',
            'mnemosyne_import_object'
        )
    ),
    EXISTS (SELECT FROM pg_class c WHERE c.oid = to_regclass('memories') AND c.relowner = r.oid)
FROM pg_roles r
WHERE r.rolname = current_user
"""


def check_database(session: Session, known: Sequence[Migration], expected: EmbeddingSpace) -> Iterator[Check]:
    """Server, extension, schema and embedding space; raises Unavailable where the database goes away meanwhile."""
    ((version, vector),) = session.run(_SERVER)
    old = version < OLDEST_POSTGRESQL
    yield Check("postgresql", f"version {version}", f"use PostgreSQL {OLDEST_POSTGRESQL} or newer" if old else None)
    yield _extension(vector)
    try:
        missing = [one for one in migrations.status(session, known) if one.applied_at is None]
    except Misconfigured as exc:
        yield Check("schema", str(exc), "deploy the version whose migrations these are")
        return
    if missing:
        yield Check("schema", f"{len(missing)} of {len(known)} migrations are missing", MIGRATE)
        return
    yield Check("schema", f"at migration {known[-1].version:04} {known[-1].name}")
    try:
        yield Check("embedding space", str(read_space(session, expected)))
    except Misconfigured as exc:
        yield Check("embedding space", str(exc), "change the settings, or run `mnemosyne reembed`")


def check_role(session: Session) -> Check:
    """Whether row-level security binds the role that the functions log in as."""
    ((user, bypasses, member, owns),) = session.run(_ROLE)
    if bypasses or owns:
        return Check("role", f"{user} is not bound by row-level security", "let the functions log in as another role")
    if not member:
        return Check("role", f"{user} may use nothing", f'run: GRANT mnemosyne_runtime TO "{user}"')
    return Check("role", f"{user}, bound by row-level security")


def check_embedder(embedder: Embedder) -> Check:
    """Whether a text becomes a vector."""
    try:
        vector = embedder.embed_query("Is anyone there?")
    except (Unavailable, InvalidRequest, Misconfigured) as exc:
        return Check("embedder", str(exc), "check the API key, or the service account's roles/aiplatform.user")
    return Check("embedder", f"{embedder.model} answers vectors of dimension {len(vector)}")


def check_queue(queue: IngestQueue) -> Check:
    """Whether accepted requests can be published; the queue says so itself."""
    try:
        return Check("topic", queue.check())
    except Unavailable as exc:
        return Check("topic", str(exc), "create the topic, or give this service account roles/pubsub.publisher on it")


def check_issuer(verifier: OidcVerifier, issuer: str) -> Check:
    """Whether the keys that tokens are signed with can be had."""
    try:
        return Check("authentication", f"oidc: {issuer} signs with {verifier.check()} keys")
    except Unavailable as exc:
        return Check("authentication", f"oidc: {issuer}: {exc}", "check MNEMOSYNE_OIDC_ISSUER, and the way to it")


def check_api_keys(keys: PostgresApiKeys) -> Check:
    """Whether an API key could be looked up."""
    try:
        keys.find("none")
    except Unavailable as exc:
        return Check("authentication", f"api_key: {exc}", "see the database's checks")
    return Check("authentication", "api_key: keys can be looked up")


def _extension(version: str | None) -> Check:
    if version is None:
        return Check("pgvector", "not there", MIGRATE)
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_PGVECTOR:
        return Check("pgvector", f"version {version}", "run: ALTER EXTENSION vector UPDATE (0.8 or newer is needed)")
    return Check("pgvector", f"version {version}")
