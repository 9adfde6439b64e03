"""Read the embedding space of the memories in the database."""

from mnemosyne.adapters.database import memories_sql
from mnemosyne.adapters.database.connections import Connection
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import Misconfigured
from mnemosyne.observability import EventLog

log = EventLog(__name__)


def read_embedding_space(connection: Connection, expected: EmbeddingSpace | None = None) -> EmbeddingSpace:
    """Return the embedding space of the memories. Raises Misconfigured if it is not the space `expected`.

    After a move to another space, the services still expect the previous space until they are deployed again. Therefore
    the previous space is accepted too.
    """
    if not connection.one(memories_sql.HAS_SCHEMA)["has_schema"]:
        raise Misconfigured(
            "the database has no memories table of ours",
            next_step="run `make deploy`, which applies the migrations; without Terraform, `mnemosyne migrate`",
        )
    row = connection.one(memories_sql.EMBEDDING_SPACE)
    space = EmbeddingSpace(row["provider"], row["model"], row["dimension"])
    if expected is None or space == expected:
        return space
    if expected == EmbeddingSpace(row["previous_provider"], row["previous_model"], row["previous_dimension"]):
        log.warning(
            "embedding_settings_outdated",
            cause="the settings name the embedding model before the last `mnemosyne reembed`",
            error=f"the database holds embeddings of {space}, the settings say {expected}",
            next_step="set embedding_model and embedding_dimension to those of the database and run `make deploy`",
        )
        return space
    raise Misconfigured(
        f"the database holds embeddings of {space}, the settings say {expected}",
        next_step="set embedding_model (MNEMOSYNE_EMBEDDING_MODEL) and embedding_dimension "
        "(MNEMOSYNE_EMBEDDING_DIMENSION) back to those of the database and run `make deploy`; or move the memories "
        "with `mnemosyne reembed --project MY-PROJECT`",
    )
