"""Operations on the outcomes of published memories."""

from typing import Annotated, Any

from pydantic import Field

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.app.operations.operation import Namespace, Operation
from mnemosyne.app.operator import SystemOperator
from mnemosyne.domain.dead_letter import DeadLetter
from mnemosyne.domain.memory import IngestState, IngestStatus
from mnemosyne.domain.message_body import unwrap
from mnemosyne.domain.outcome import OutcomeCursor
from mnemosyne.domain.parsing import Text

PAGE = 1000
Row = dict[str, Any]
_COLUMNS = "updated_at", "state", "request_id", "message_id", "memory_id", "source", "key", "error", "note"
_NOTHING: Row = dict.fromkeys(_COLUMNS)


class ListOutcomes(Operation, action="outcome_list", count_field="outcomes"):
    """List the outcomes of a namespace's requests, a page at a time.

    The order is the order of the transactions that recorded the outcomes. The last page also has a position `after`,
    because more outcomes may follow later.
    """

    namespace: Namespace
    source: Text | None = None
    after: OutcomeCursor = OutcomeCursor()

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        memories = operator.memories_of(self.namespace)
        page = memories.outcomes(PAGE, after=self.after, source=self.source)
        unread = (_unreadable_row(letter, memories, self.source) for letter in page.unreported)
        unreadable = [row for row in unread if self.source in (None, row["source"])]
        return {
            "outcomes": [*map(_outcome_row, page.outcomes), *unreadable],
            "after": page.after.model_dump(mode="json"),
            "is_last": page.is_last,
        }

    def is_recorded(self, answer: dict[str, Any]) -> bool:
        return self.after.seen is None or bool(answer["outcomes"])


class ListOutcomesOfKeys(Operation, action="outcome_of_keys"):
    """Return the latest outcome of each record that the keys name, in the order of the keys.

    The state is `unknown` if there is no outcome for a key.
    """

    namespace: Namespace
    source: Text
    keys: Annotated[list[Text], Field(min_length=1, max_length=PAGE)]

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        statuses = operator.memories_of(self.namespace).outcomes_of_keys(self.source, self.keys)
        rows = [
            (_outcome_row(statuses[key]) if key in statuses else _NOTHING | {"state": "unknown"})
            | {"source": self.source, "key": key}
            for key in self.keys
        ]
        return {"outcomes": rows}


class CountWaiting(Operation, action="outcome_waiting"):
    """Count the requests that wait for another attempt to store them, and return the error of the latest attempt."""

    namespace: Namespace

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        memories = operator.memories_of(self.namespace)
        last = memories.ingest_requests(IngestState.QUEUED, 1)
        return {"waiting": memories.stats().pending, "error": last[0].error if last else None}


def _unreadable_row(dead_letter: DeadLetter, memories: MemoryStore, source: str | None) -> Row:
    """Convert an unreadable message to a row in the list of outcomes.

    The source of the message is in its attributes or in its data. The caller passes `dead_letter` without the data,
    because the data may be large. If the list is filtered by `source` and the attributes have no source, this function
    reads the data from the database.
    """
    letter = None
    if source is not None and "source" not in dead_letter.attributes:
        letter = memories.dead_letter(dead_letter.message_id)
    name = unwrap((letter or dead_letter).published)
    return _NOTHING | {
        "updated_at": dead_letter.dead_lettered_at,
        "state": "dead_lettered",
        "message_id": dead_letter.message_id,
        "source": name.source or None,
        "key": name.key or None,
        "error": dead_letter.cause,
    }


def _outcome_row(status: IngestStatus) -> Row:
    return _NOTHING | {
        "updated_at": status.updated_at,
        "state": status.state,
        "request_id": status.request_id,
        "memory_id": status.memory_id,
        **(vars(status.external_id) if status.external_id else {}),
        "error": status.error,
        "note": status.note,
    }
