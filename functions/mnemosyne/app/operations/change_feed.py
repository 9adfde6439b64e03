"""Operations on change feeds. A change feed records an event for each change of a memory in its namespace."""

from dataclasses import asdict
from typing import Any, Final

from mnemosyne.app.operations.operation import Namespace, Operation
from mnemosyne.app.operator import SystemOperator
from mnemosyne.domain.change_feed import ChangeCursor, ChangeFeed

PAGE: Final = 500


class ListChanges(Operation, action="change_list", count_field="events"):
    """List the changes of a namespace's memories, a page at a time.

    The last page also has a position `after`, because more changes may follow later.
    """

    namespace: Namespace
    after: ChangeCursor = ChangeCursor()

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        page = operator.memories_of(self.namespace).changes(PAGE, after=self.after)
        return {
            "events": [event.values for event in page.events],
            "after": page.after.model_dump(mode="json"),
            "is_last": page.is_last,
            "is_on": page.is_on,
        }

    def is_recorded(self, answer: dict[str, Any]) -> bool:
        return self.after.seen is None or bool(answer["events"])


class ListFeeds(Operation, action="feed_list"):
    """List the namespaces whose change feed was turned on or off, each with this setting.

    The setting of the namespace '' applies to all namespaces that are not listed.
    """

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"feeds": [asdict(feed) for feed in operator.feeds.every()]}


class SetFeed(Operation, action="feed_set", changes_as_owner=True):
    """Turn the change feed of a namespace on or off.

    The namespace '' means all namespaces that have no setting of their own.
    """

    namespace: Namespace = ""
    enabled: bool
    contents: bool = False

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        operator.feeds.set(ChangeFeed(namespace=self.namespace, enabled=self.enabled, contents=self.contents))
        return {"namespace": self.namespace}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return self.model_dump()
