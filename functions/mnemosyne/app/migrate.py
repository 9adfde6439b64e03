"""Bring a deployment's database up to date, and check that the embedding model works.

The job `python -m mnemosyne.app.migrate` does this in Cloud Run, with the settings of the `migrate` function. If the
job fails, it exits with 1 and writes one log line, `migration_failed`.
"""

import sys
import time
from contextlib import closing
from typing import Final

from mnemosyne.adapters.database import migrations
from mnemosyne.adapters.database.memory_database import read_embedding_space
from mnemosyne.adapters.database.server_errors import error_fields, server_message
from mnemosyne.adapters.embedders import registry
from mnemosyne.app.container import connection_factory_for, embedding_space
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import InvalidRequest, Misconfigured, MnemosyneError, Unavailable
from mnemosyne.observability import EventLog, configure_logging, normalize_cause
from mnemosyne.settings import Settings

# Do not use `__name__`, which is "__main__" in a job. Only loggers with the prefix "mnemosyne" write info events.
log = EventLog("mnemosyne.app.migrate")

WORD: Final = "memory"
PATIENCE_SECONDS: Final = 240.0
"""Seconds for which a failing check is repeated. In Google Cloud, it can take minutes until a new grant or a newly
enabled API takes effect."""
PAUSE_SECONDS: Final = 10.0


def check_embedding(
    settings: Settings, space: EmbeddingSpace, *, patience: float = PATIENCE_SECONDS, pause: float = PAUSE_SECONDS
) -> None:
    """Check that an embedding model works, by embedding one word.

    The check fails if the region does not offer the model, if the project may not use the model, or if a permission is
    missing. Without the check, these errors would be noticed only when memories cannot be stored. Raises Misconfigured,
    which tells the operator what to do next.
    """
    embedder = registry.build(settings, space)
    deadline = time.monotonic() + patience
    while True:
        try:
            embedder.embed_query(WORD)
        except (InvalidRequest, Unavailable) as exc:
            if time.monotonic() >= deadline:
                next_step = getattr(exc, "next_step", "") or "run `make deploy` again"
                cause, detail = getattr(exc, "cause", str(exc)), getattr(exc, "detail", "")
                raise Misconfigured(
                    f"{space.model} could not embed one word: {cause}", next_step=next_step, detail=detail
                ) from exc
            log.info("embedding_not_ready", error=str(exc))
            time.sleep(pause)
        else:
            return


_AUDIT_DAYS: Final = "UPDATE audit_retention SET days = CAST(:days AS integer)"

_NEXT_RUN: Final = "wait for the next run, which does the same work; if it fails too, do what `error` says"
_NEXT_STEPS: Final = {
    "migration_failed": "do what `error` says, then run `make deploy` again",
    "operation_failed": "do what `error` says, then run the command again",
    "expiry_failed": _NEXT_RUN,
    "announcement_failed": _NEXT_RUN,
}
"""Next step for the operator, by the name of the log event. Used if the error itself has no next step."""


def migrate(settings: Settings, *, repair: bool = False) -> list[str]:
    """Apply pending files of the schema, and grant roles to the functions' database users.

    Returns the applied files. Repeatable files, such as SQL functions, are applied again if they have changed. With
    `repair`, all repeatable files are applied again. Raises MigrationFailed, or Misconfigured if a user does not exist.
    """
    with closing(connection_factory_for(settings, socket_timeout=None)()) as connection:
        space = embedding_space(settings)
        applied = migrations.migrate(connection, migrations.schema_files(), space=space, repair=repair)
        migrations.grant_runtime_role(connection, settings.runtime_users)
        connection.run(_AUDIT_DAYS, days=settings.audit_days)
    return [file.label for file in applied]


def deploy(settings: Settings, *, patience: float = PATIENCE_SECONDS, repair: bool = False) -> list[str]:
    """Migrate, then embed one word with the model of the memories, and return the applied files.

    If embedding fails, the schema stays migrated. Raises MigrationFailed, or Misconfigured if the word cannot be
    embedded or the memories are in another embedding space than the space in the settings.
    """
    applied = migrate(settings, repair=repair)
    with closing(connection_factory_for(settings)()) as connection:
        space = read_embedding_space(connection, embedding_space(settings))
    check_embedding(settings, space, patience=patience)
    return applied


def log_failure(event: str, exc: Exception) -> str:
    """Log the failure of a migration or of an operator's command as one line. Return the cause as one sentence.

    `event` is the name of the log event, and a key of `_NEXT_STEPS`.
    """
    cause = _describe_cause(exc)
    # Leave out the traceback of a PostgreSQL error, because it would quote rows and statements.
    expected = isinstance(exc, MnemosyneError) or error_fields(exc)
    if not expected:
        log.exception(event, error=cause)
        return cause
    next_step = getattr(exc, "next_step", "") or _NEXT_STEPS[event]
    log.error(event, cause=normalize_cause(getattr(exc, "cause", cause)), error=cause, next_step=next_step)
    return cause


def _describe_cause(exc: Exception) -> str:
    message = str(exc) if isinstance(exc, MnemosyneError) else ""
    fields = error_fields(exc)
    if fields and message and fields.get("M", "") in message:
        return message
    if fields:
        return f"{message or 'the database refused a statement'}: {fields.get('C', '')} {server_message(fields)}"
    cause = exc.__cause__
    # Log the cause of Unavailable only: the cause of Misconfigured may be a validation error, which quotes secrets.
    if isinstance(exc, Unavailable) and cause is not None and str(cause) not in message:
        return f"{message} ({type(cause).__name__}: {cause})"
    return message or f"{type(exc).__name__}: {exc}"


def main() -> int:
    """Run the job `python -m mnemosyne.app.migrate`, and return its exit code."""
    configure_logging("INFO")
    try:
        settings = Settings.from_environment()
        configure_logging(settings.log_level, project=settings.google_cloud_project)
        applied = deploy(settings)
    except Exception as exc:  # noqa: BLE001 - the job must log every exception that makes it fail
        log_failure("migration_failed", exc)
        return 1
    log.info("migrated", count=len(applied), files=applied)
    return 0


if __name__ == "__main__":
    sys.exit(main())
