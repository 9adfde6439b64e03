"""Bring the schema up to date, one deployment at a time: numbered migrations once each, then the repeatable files.

`infra/migrations` holds what happens once: tables, columns, indexes, roles. `infra/sql` holds what can be replaced as a
whole, functions and views: a file is applied again whenever its text has changed, in the order of their names, all in
one transaction.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

import pg8000.exceptions

import mnemosyne
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import Misconfigured
from mnemosyne.observability import EventLog

log = EventLog(__name__)

_BOOKKEEPING: Final = """
SET lock_timeout = 0;
SET statement_timeout = 0;
SET client_min_messages = warning;
SELECT pg_advisory_lock(hashtext('mnemosyne.migrations'));
SET lock_timeout = '30s';
CREATE TABLE IF NOT EXISTS schema_migrations (
    version    integer PRIMARY KEY,
    name       text NOT NULL,
    checksum   text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS schema_repeatables (
    name       text PRIMARY KEY,
    checksum   text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
"""
_HAS_BOOKKEEPING: Final = """
SELECT to_regclass('schema_migrations') IS NOT NULL AS migrations,
    to_regclass('schema_repeatables') IS NOT NULL AS repeatables
"""
_MIGRATIONS: Final = "SELECT version, checksum, applied_at FROM schema_migrations ORDER BY version"
_REPEATABLES: Final = "SELECT name, checksum, applied_at FROM schema_repeatables"
_CHOOSE_EMBEDDING_SPACE: Final = """
SELECT set_config('mnemosyne.embedding_provider', :provider, true),
    set_config('mnemosyne.embedding_model', :model, true),
    set_config('mnemosyne.embedding_dimension', CAST(CAST(:dimension AS integer) AS text), true)
"""
_RECORD_MIGRATION: Final = """
INSERT INTO schema_migrations (version, name, checksum) VALUES (:version, :name, :checksum)
"""
_RECORD_REPEATABLE: Final = """
INSERT INTO schema_repeatables (name, checksum) VALUES (:name, :checksum)
ON CONFLICT (name) DO UPDATE SET checksum = EXCLUDED.checksum, applied_at = now()
"""
_UNLOCK: Final = "SELECT pg_advisory_unlock(hashtext('mnemosyne.migrations'))"


@dataclass(frozen=True, kw_only=True)
class SchemaFile:
    """One file, and when it was applied as it is."""

    name: str
    sql: str
    version: int | None = None
    """The number of a migration; None of a repeatable file."""
    applied_at: datetime | None = None

    @property
    def checksum(self) -> str:
        """SHA-256 of the file's text."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def label(self) -> str:
        """The file as people are told of it."""
        return self.name if self.version is None else f"{self.version:04} {self.name}"


def bundled() -> list[SchemaFile]:
    """Return the schema that belongs to this code: within the package where it is deployed or installed, else
    in `infra`.
    """
    package = Path(mnemosyne.__file__).parent
    return read(next(place for place in (package / "sql", package.parents[1] / "infra") if place.is_dir()))


def read(directory: Path) -> list[SchemaFile]:
    """Return the files in `migrations` and then those in `sql`, in order.

    Raises Misconfigured where a migration's number is missing or doubled.
    """
    files = sorted(directory.glob("migrations/[0-9][0-9][0-9][0-9]_*.sql"))
    migrations = [SchemaFile(version=int(file.name[:4]), name=file.stem[5:], sql=file.read_text()) for file in files]
    if [one.version for one in migrations] != list(range(1, len(migrations) + 1)) or not migrations:
        raise Misconfigured(f"migrations must be numbered from 0001 without gaps: {[f.name for f in files]}")
    repeatables = sorted(directory.glob("sql/*.sql"))
    return [*migrations, *(SchemaFile(name=file.stem, sql=file.read_text()) for file in repeatables)]


def status(connection: Connection, files: Sequence[SchemaFile]) -> list[SchemaFile]:
    """Return the files with the time each was applied as it is; raises Misconfigured where an applied migration
    has changed.

    On a schema that is newer than the files, repeatable ones count as applied: a version before this one's successor,
    deployed again, runs on its functions.
    """
    there = connection.one(_HAS_BOOKKEEPING)
    migrations = {row["version"]: row for row in connection.run(_MIGRATIONS)} if there["migrations"] else {}
    repeatables = {row["name"]: row for row in connection.run(_REPEATABLES)} if there["repeatables"] else {}
    newer = sorted(migrations.keys() - {one.version for one in files})
    if newer:
        log.warning("schema_is_newer", versions=newer)
    result = []
    for file in files:
        applied = repeatables.get(file.name) if file.version is None else migrations.get(file.version)
        is_same = applied is not None and applied["checksum"] == file.checksum
        if applied is not None and not is_same and file.version is not None:
            raise Misconfigured(
                f"migration {file.label} was changed after it was applied: restore the file and put the change into a "
                "new one"
            )
        is_served = applied is not None and (is_same or bool(newer))
        result.append(replace(file, applied_at=applied["applied_at"] if applied is not None and is_served else None))
    return result


# The version before this one uses the common role, and still runs while this one is deployed: so that is taken away by
# a later deployment, which finds the functions' own roles a day old.
_NAME_USER: Final = """
SELECT set_config('mnemosyne.granted_to', :user, true), set_config('mnemosyne.granted_role', :role, true)
"""
_GRANT_RUNTIME_ROLE: Final = """
DO $$
DECLARE
    role text := current_setting('mnemosyne.granted_role');
    grantee text := current_setting('mnemosyne.granted_to');
BEGIN
    EXECUTE format('GRANT %I TO %I', role, grantee);
    IF role <> 'mnemosyne_runtime' AND EXISTS (
        SELECT FROM schema_migrations WHERE name = 'roles' AND applied_at < now() - interval '1 day'
    ) THEN
        EXECUTE format('REVOKE mnemosyne_runtime FROM %I', grantee);
    END IF;
END
$$
"""


def grant_runtime_role(connection: Connection, users: Sequence[str]) -> None:
    """Let those database users, each as `FUNCTION=USER`, do what that function does; a bare one, what all of them do.

    Raises Misconfigured where one is not there.
    """
    for granted in users:
        function, _, user = granted.rpartition("=")
        role = f"mnemosyne_{function or 'runtime'}"
        with connection.transaction():
            connection.run(_NAME_USER, user=user, role=role)
            try:
                connection.script(_GRANT_RUNTIME_ROLE)
            except pg8000.exceptions.DatabaseError as exc:
                raise Misconfigured(
                    f"the role {role} cannot be granted to the database user {user}: {exc.args[0].get('M')}"
                ) from exc
        log.info("role_granted", user=user, role=role)


def migrate(connection: Connection, files: Sequence[SchemaFile], *, space: EmbeddingSpace) -> list[SchemaFile]:
    """Apply what is missing, each migration in a transaction of its own and the repeatable files in one; return it.

    A new schema is made for embeddings of that space. The connection's role must own the schema and may create the
    extension. Concurrent runs wait for each other.
    """
    connection.script(_BOOKKEEPING)
    try:
        missing = [one for one in status(connection, files) if one.applied_at is None]
        for migration in missing:
            if migration.version is None:
                continue
            with connection.transaction():
                connection.run(
                    _CHOOSE_EMBEDDING_SPACE, provider=space.provider, model=space.model, dimension=space.dimension
                )
                connection.run_file(migration.sql)
                connection.run(
                    _RECORD_MIGRATION,
                    version=migration.version,
                    name=migration.name,
                    checksum=migration.checksum,
                )
            log.info("migration_applied", version=migration.version, name=migration.name)
        _replace(connection, [one for one in missing if one.version is None])
        return missing
    finally:
        if not connection.broken:
            connection.script(_UNLOCK)


def _replace(connection: Connection, repeatables: Sequence[SchemaFile]) -> None:
    if not repeatables:
        return
    with connection.transaction():
        for file in repeatables:
            connection.run_file(file.sql)
            connection.run(_RECORD_REPEATABLE, name=file.name, checksum=file.checksum)
    log.info("repeatables_applied", names=[one.name for one in repeatables])
