"""`POST /grants` of the `migrate` function: list and end what people have let their clients do."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Protocol, Self
from uuid import UUID

from pydantic import Field, model_validator

from mnemosyne.domain.parsing import Id, Input, Text, parse, parse_json
from mnemosyne.errors import NotFound
from mnemosyne.observability import EventLog

log = EventLog(__name__)


class GrantStore(Protocol):
    """Grants, as their keeper sees them."""

    def every(self, person: str | None) -> Sequence[dict[str, Any]]:
        """All grants that stand, oldest first; of one person by their address or subject."""

    def revoke(self, ids: Sequence[UUID], person: str | None) -> Sequence[str]:
        """End these, and all of the person's; return the ids of those that stood until now."""


class GrantRequest(Input):
    """What to do with which grants."""

    action: Literal["list", "revoke"]
    ids: Annotated[list[Id], Field(max_length=100, default_factory=list)]
    person: Annotated[Text | None, Field(min_length=1, max_length=200)] = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.action == "revoke" and not self.ids and self.person is None:
            raise ValueError("ids or person says which grants to revoke")
        return self


def manage_grants(body: bytes, grants: GrantStore) -> dict[str, Any]:
    """Do what the request asks; raises InvalidRequest, or NotFound where no grant to revoke is there."""
    asked = parse(GrantRequest, parse_json(body, of="the request"), of="the request")
    if asked.action == "list":
        log.info("audit", action="grant_list", outcome="done")
        return {"grants": list(grants.every(asked.person))}
    revoked = list(grants.revoke(asked.ids, asked.person))
    if not revoked:
        raise NotFound(f"no grant of {asked.person or ', '.join(map(str, asked.ids))} stands")
    log.warning("audit", action="revoke_grant", outcome="done", grants=revoked, reason="revoked by the operator")
    return {"revoked": revoked}
