"""Operation that reads the audit trail."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import Field

from mnemosyne.app.operations.operation import Operation
from mnemosyne.app.operator import SystemOperator
from mnemosyne.domain.audit import AuditFilter
from mnemosyne.domain.parsing import Text
from mnemosyne.domain.rfc3339 import instant, rfc3339

PAGE = 500
Name = Annotated[Text, Field(min_length=1, max_length=1_000)]


class ListAudit(Operation):
    """List the events of the audit trail, oldest first, a page at a time."""

    action = "audit_list"
    as_owner = True

    key: Name | None = None
    person: Name | None = None
    client: Name | None = None
    grant: Name | None = None
    namespace: Annotated[Text | None, Field(max_length=200)] = None
    of_action: Name | None = None
    since: Annotated[float | None, Field(ge=0)] = None
    """Length of the period that ends now, in seconds."""
    after: list[Text] | None = None
    """Time and id of the last event of the page before."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        """Return a page of events."""
        chosen = AuditFilter(
            key=self.key,
            person=self.person,
            client=self.client,
            grant=self.grant,
            namespace=self.namespace,
            action=self.of_action,
            since=None if self.since is None else datetime.now(UTC) - timedelta(seconds=self.since),
        )
        after = (instant(self.after[0]), int(self.after[1])) if self.after else None
        page = operator.audit.page(chosen, PAGE, after)
        events = [{**vars(event), "at": rfc3339(event.at)} for event in page]
        last = page[-1] if len(page) == PAGE else None
        return {"events": events, "after": [rfc3339(last.at), str(last.id)] if last else None}

    def audited(self, answer: dict[str, Any]) -> dict[str, Any]:
        whose = {"key": self.key, "person": self.person, "client": self.client, "grant": self.grant}
        return {**whose, "namespace": self.namespace, "count": len(answer["events"])}
