"""The embedding space that the memories in the database are in."""

from mnemosyne.adapters import sql
from mnemosyne.adapters.connections import Session
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.errors import Misconfigured
from mnemosyne.observability import EventLog

log = EventLog(__name__)


def read_space(session: Session, expected: EmbeddingSpace | None = None) -> EmbeddingSpace:
    """The space the memories are in; raises Misconfigured where it is not the expected one.

    The one they have last been moved from will do as well: a function is deployed anew only after the move.
    """
    if session.run(sql.HAS_SCHEMA) != [[True]]:
        raise Misconfigured("the database has no memories table of ours: run `mnemosyne migrate`")
    ((model, dimension, previous_model, previous_dimension),) = session.run(sql.EMBEDDING_SPACE)
    space = EmbeddingSpace(model, dimension)
    if expected is None or space == expected:
        return space
    if expected == EmbeddingSpace(previous_model, previous_dimension):
        log.warning("embedding_settings_outdated", set=str(expected), memories=str(space))
        return space
    raise Misconfigured(
        f"the database holds embeddings of {space}, the settings say {expected}: set MNEMOSYNE_EMBEDDING_MODEL and "
        "MNEMOSYNE_EMBEDDING_DIMENSION to the database's, or move the memories with `mnemosyne reembed`"
    )
