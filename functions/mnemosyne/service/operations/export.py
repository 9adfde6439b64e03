"""Operation that exports the memories of a namespace, a page at a time."""

from typing import Annotated, Any

from pydantic import Field

from mnemosyne.domain.memory import KeysetCursor
from mnemosyne.domain.parsing import Text
from mnemosyne.domain.rfc3339 import instant, rfc3339
from mnemosyne.formats.writing import to_record
from mnemosyne.ports.operator import Operator
from mnemosyne.service.operations.operation import Operation

PAGE = 200


class ExportMemories(Operation):
    """Read memories with all fields, oldest first."""

    action = "export"

    namespace: Annotated[Text, Field(max_length=200)]
    after: list[Text] | None = None
    """Time and content hash of the last memory."""

    def run(self, operator: Operator) -> dict[str, Any]:
        """Return a page of records."""
        after = KeysetCursor(timestamp=instant(self.after[0]), key=self.after[1]) if self.after else None
        page = operator.memories_of(self.namespace).export(PAGE, after=after)
        last = page[-1].cursor if page else None
        return {
            "memories": [to_record(memory) for memory in page],
            "after": [rfc3339(last.timestamp), last.key] if last else None,
        }

    def audited(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the namespace and the number of memories."""
        return {"namespace": self.namespace, "count": len(answer["memories"])}
