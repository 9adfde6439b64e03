"""Apply the numbered SQL files of `infra/migrations` in order, once each, one deployment at a time."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pg8000.exceptions

from mnemosyne.adapters.connections import Session
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import Misconfigured
from mnemosyne.observability import EventLog

log = EventLog(__name__)

_BOOKKEEPING = """
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
"""


@dataclass(frozen=True, kw_only=True)
class Migration:
    """One file, and when it was applied."""

    version: int
    name: str
    sql: str
    applied_at: datetime | None = None

    @property
    def checksum(self) -> str:
        """SHA-256 of the file's text."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def read(directory: Path) -> list[Migration]:
    """The migrations in the directory, in order; raises Misconfigured where numbers are missing or doubled."""
    files = sorted(directory.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    migrations = [Migration(version=int(file.name[:4]), name=file.stem[5:], sql=file.read_text()) for file in files]
    if [m.version for m in migrations] != list(range(1, len(migrations) + 1)) or not migrations:
        raise Misconfigured(f"migrations must be numbered from 0001 without gaps: {[f.name for f in files]}")
    return migrations


def status(session: Session, migrations: Sequence[Migration]) -> list[Migration]:
    """The migrations with the time each was applied; raises Misconfigured where an applied file has changed."""
    if not session.run("SELECT 1 FROM pg_tables WHERE tablename = 'schema_migrations'"):
        return list(migrations)
    rows = session.run("SELECT version, checksum, applied_at FROM schema_migrations ORDER BY version")
    applied = {row[0]: (row[1], row[2]) for row in rows}
    if newer := sorted(set(applied) - {m.version for m in migrations}):
        # A version before this one's successor, deployed again: migrations are additive, so it runs on their schema.
        log.warning("schema_is_newer", versions=newer)
    result = []
    for migration in migrations:
        checksum, applied_at = applied.get(migration.version, (migration.checksum, None))
        if checksum != migration.checksum:
            raise Misconfigured(
                f"migration {migration.version:04} {migration.name} was changed after it was applied: "
                "restore the file and put the change into a new one"
            )
        result.append(
            Migration(version=migration.version, name=migration.name, sql=migration.sql, applied_at=applied_at)
        )
    return result


# The version before this one uses the common role, and still runs while this one is deployed: so that is taken away by
# a later deployment, which finds the functions' own roles a day old.
_ADMIT = """
DO $$
DECLARE
    role text := current_setting('mnemosyne.admitted_as');
    admitted text := current_setting('mnemosyne.admitted');
BEGIN
    EXECUTE format('GRANT %I TO %I', role, admitted);
    IF role <> 'mnemosyne_runtime' AND EXISTS (
        SELECT FROM schema_migrations WHERE name = 'roles' AND applied_at < now() - interval '1 day'
    ) THEN
        EXECUTE format('REVOKE mnemosyne_runtime FROM %I', admitted);
    END IF;
END
$$
"""


def admit(session: Session, users: Sequence[str]) -> None:
    """Let those database users, each as `FUNCTION=USER`, do what that function does; a bare one, what all of them do.

    Raises Misconfigured where one is not there.
    """
    for admitted in users:
        function, _, user = admitted.rpartition("=")
        with session.transaction():
            session.run(
                "SELECT set_config('mnemosyne.admitted', :user, true),"
                " set_config('mnemosyne.admitted_as', :role, true)",
                user=user,
                role=f"mnemosyne_{function or 'runtime'}",
            )
            try:
                session.script(_ADMIT)
            except pg8000.exceptions.DatabaseError as exc:
                raise Misconfigured(f"the database user {user} cannot be admitted: {exc.args[0].get('M')}") from exc
        log.info("user_admitted", user=user, function=function or "any")


def migrate(session: Session, migrations: Sequence[Migration], *, space: EmbeddingSpace) -> list[Migration]:
    """Apply what is missing, each file in a transaction of its own, and return it.

    A new schema is made for embeddings of that space. The session's role must own the schema and may create the
    extension. Concurrent runs wait for each other.
    """
    session.script(_BOOKKEEPING)
    try:
        missing = [m for m in status(session, migrations) if m.applied_at is None]
        for migration in missing:
            with session.transaction():
                session.run(
                    "SELECT set_config('mnemosyne.embedding_model', :model, true),"
                    " set_config('mnemosyne.embedding_dimension', :dimension, true)",
                    model=space.model,
                    dimension=str(space.dimension),
                )
                session.script(migration.sql)
                session.run(
                    "INSERT INTO schema_migrations (version, name, checksum) VALUES (:version, :name, :checksum)",
                    version=migration.version,
                    name=migration.name,
                    checksum=migration.checksum,
                )
            log.info("migration_applied", version=migration.version, name=migration.name)
        return missing
    finally:
        if not session.broken:
            session.script("SELECT pg_advisory_unlock(hashtext('mnemosyne.migrations'))")
