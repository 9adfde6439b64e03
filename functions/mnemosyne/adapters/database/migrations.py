"""Bring the schema up to date: apply the new migrations, then the changed repeatable files.

The migrations in `db/migrations` are numbered changes that can be applied only once: tables, columns, indexes, roles.
The repeatable files in `db/functions` define objects that can be replaced: SQL functions, triggers, rights. A
repeatable file is applied again when its text has changed. The repeatable files are applied in the order of their
names. One transaction applies all files that must be applied, so a failed run changes nothing.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

import pg8000.exceptions

from mnemosyne.adapters.database.connections import Connection
from mnemosyne.adapters.database.server_errors import error_fields, migrating, server_message
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import Misconfigured, MnemosyneError
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
ALTER TABLE schema_repeatables ADD COLUMN IF NOT EXISTS earlier_checksums text[] NOT NULL DEFAULT '{}';
"""
_HAS_BOOKKEEPING: Final = """
SELECT to_regclass('schema_migrations') IS NOT NULL AS migrations,
    to_regclass('schema_repeatables') IS NOT NULL AS repeatables
"""
_MIGRATIONS: Final = "SELECT version, name, checksum, applied_at FROM schema_migrations ORDER BY version"
# Read the column earlier_checksums with to_jsonb, because a database of an earlier version does not have this column.
_REPEATABLES: Final = """
SELECT name, checksum, applied_at, coalesce(to_jsonb(r) -> 'earlier_checksums', '[]') AS earlier_checksums
FROM schema_repeatables r
"""
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
ON CONFLICT (name) DO UPDATE SET checksum = EXCLUDED.checksum, applied_at = now(), earlier_checksums = array_remove(
    array_remove(schema_repeatables.earlier_checksums, schema_repeatables.checksum) || schema_repeatables.checksum,
    EXCLUDED.checksum
)
"""
# By default, PostgreSQL lets every role call a new function. Revoke this right, because the schema files grant the
# rights on functions. The functions of extensions keep their rights.
_REVOKE_FROM_PUBLIC: Final = """
DO $$
DECLARE
    signature regprocedure;
BEGIN
    FOR signature IN
        SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = CAST('public' AS regnamespace) AND pg_get_userbyid(p.proowner) = current_user
            AND has_function_privilege('public', p.oid, 'EXECUTE') AND NOT EXISTS (
                SELECT FROM pg_depend d
                WHERE d.classid = CAST('pg_proc' AS regclass) AND d.objid = p.oid AND d.deptype = 'e'
            )
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', signature);
    END LOOP;
END
$$
"""
_UNLOCK: Final = "SELECT pg_advisory_unlock(hashtext('mnemosyne.migrations'))"


@dataclass(frozen=True, kw_only=True)
class SchemaFile:
    """One file of the schema, and the time at which it was applied."""

    name: str
    sql: str
    version: int | None = None
    """The number of a migration; None for a repeatable file."""
    applied_at: datetime | None = None

    @property
    def checksum(self) -> str:
        """SHA-256 of the file's text."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def label(self) -> str:
        """The name of the file in logs and error messages. The name of a migration begins with its number."""
        return self.name if self.version is None else f"{self.version:04} {self.name}"


def schema_files() -> list[SchemaFile]:
    """Return the schema files of this version of the code, from the package `mnemosyne.db`."""
    return read(resources.files("mnemosyne.db"))


def read(directory: Traversable) -> list[SchemaFile]:
    """Read the files in `migrations`, then the files in `functions`, both in the order of their names.

    Raises Misconfigured if a migration's number is missing or used twice.
    """
    numbered = _sql_files(directory / "migrations")
    migrations = [
        SchemaFile(version=int(name[:4]), name=name[5:], sql=sql) for name, sql in numbered if name[:4].isdigit()
    ]
    if [file.version for file in migrations] != list(range(1, len(migrations) + 1)) or not migrations:
        raise Misconfigured(f"migrations must be numbered from 0001 without gaps: {[name for name, _ in numbered]}")
    return [*migrations, *(SchemaFile(name=name, sql=sql) for name, sql in _sql_files(directory / "functions"))]


def _sql_files(directory: Traversable) -> list[tuple[str, str]]:
    """Return the names (without suffix) and texts of the SQL files in a directory, in the order of the names."""
    files = (file for file in directory.iterdir() if file.name.endswith(".sql"))
    return sorted((file.name.removesuffix(".sql"), file.read_text(encoding="utf-8")) for file in files)


def status(
    connection: Connection, files: Sequence[SchemaFile], *, repair: bool = False, allow_later: bool = False
) -> list[SchemaFile]:
    """Return the files, and find out which of them must be applied to the database.

    In the result, `applied_at` of a file is the time at which it was applied, or None if it must be applied.

    A file must be applied if it was never applied. A repeatable file (which can be applied several times) must also be
    applied if its text has changed since it was last applied. With `repair`, all repeatable files must be applied. With
    `allow_later`, a repeatable file counts as applied even if another version of it was applied after this version.

    If the database has migrations that are not among the files, a later version of the code has applied them. Then all
    repeatable files that were ever applied count as applied, even with `repair`. So if an earlier version of the code
    is deployed again, the SQL functions of the later version remain.

    Raises Misconfigured if the text of an applied migration differs from its file.
    """
    tables = connection.one(_HAS_BOOKKEEPING)
    migrations = {row["version"]: row for row in connection.run(_MIGRATIONS)} if tables["migrations"] else {}
    repeatables = {row["name"]: row for row in connection.run(_REPEATABLES)} if tables["repeatables"] else {}
    newer = sorted(migrations.keys() - {file.version for file in files})
    if newer:
        log.info("schema_is_newer", versions=newer)
    result = []
    for file in files:
        row = repeatables.get(file.name) if file.version is None else migrations.get(file.version)
        unchanged = row is not None and row["checksum"] == file.checksum
        if row is not None and not unchanged and file.version is not None:
            raise Misconfigured(
                f"migration {file.label} was changed after it was applied: this database was made by another version. "
                "Export its memories with that version (`mnemosyne export > memories.jsonl`), then import them with "
                "this version into an empty database (`mnemosyne import memories.jsonl`, on one machine with "
                "--data-dir NEW): docs/deployment.md, Upgrade. If you edited the file, restore it and put the change "
                "into a new migration"
            )
        is_repeatable = file.version is None
        if allow_later and is_repeatable and row is not None:
            unchanged = unchanged or file.checksum in row["earlier_checksums"]
        must_apply = not unchanged or (repair and is_repeatable)
        current = row is not None and (bool(newer) or not must_apply)
        result.append(replace(file, applied_at=row["applied_at"] if row is not None and current else None))
    return result


_NAME_GRANT: Final = """
SELECT set_config('mnemosyne.granted_to', :user, true), set_config('mnemosyne.granted_role', :role, true)
"""
_GRANT: Final = """
DO $$
BEGIN
    EXECUTE format(
        'GRANT %I TO %I', current_setting('mnemosyne.granted_role'), current_setting('mnemosyne.granted_to')
    );
END
$$
"""


def grant_runtime_role(connection: Connection, users: Sequence[str]) -> None:
    """Grant roles to database users. Each item of `users` is `FUNCTION=USER` or `USER`.

    With `FUNCTION=USER`, the user gets the role of that Cloud Run function. A bare `USER` gets mnemosyne_runtime.
    Raises Misconfigured if a user or role does not exist.
    """
    for entry in users:
        function, _, user = entry.rpartition("=")
        role = f"mnemosyne_{function or 'runtime'}"
        with connection.transaction():
            connection.run(_NAME_GRANT, user=user, role=role)
            try:
                connection.script(_GRANT)
            except (MnemosyneError, pg8000.exceptions.DatabaseError) as exc:
                reason = server_message(error_fields(exc)) or str(exc)
                raise Misconfigured(f"the role {role} cannot be granted to the database user {user}: {reason}") from exc
        log.info("role_granted", user=user, role=role)


@migrating("schema_migrations")
def migrate(
    connection: Connection, files: Sequence[SchemaFile], *, space: EmbeddingSpace, repair: bool = False
) -> list[SchemaFile]:
    """Apply all files that must be applied, in one transaction, and return these files.

    `space` is the embedding space of a new schema. With `repair`, the repeatable files are applied although they have
    not changed, which restores functions and rights that somebody dropped or revoked. The role of the connection must
    own the schema and be allowed to create the extension `vector`. Concurrent runs wait for each other. Raises
    MigrationFailed, with PostgreSQL's message, if PostgreSQL rejects a file.
    """
    connection.script(_BOOKKEEPING)
    try:
        missing = [file for file in status(connection, files, repair=repair) if file.applied_at is None]
        if missing:
            with connection.transaction():
                connection.run(_CHOOSE_EMBEDDING_SPACE, **asdict(space))
                for file in missing:
                    _apply(connection, file)
                connection.script(_REVOKE_FROM_PUBLIC)
            log.info("schema_applied", files=[file.label for file in missing])
        return missing
    finally:
        if not connection.broken:
            connection.script(_UNLOCK)


def _apply(connection: Connection, file: SchemaFile) -> None:
    with migrating(file.label, file.sql):
        connection.run_file(file.sql)
    if file.version is None:
        connection.run(_RECORD_REPEATABLE, name=file.name, checksum=file.checksum)
    else:
        connection.run(_RECORD_MIGRATION, version=file.version, name=file.name, checksum=file.checksum)
