"""`POST /grants` of the `migrate` function: list and end what people have let their clients do."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from mnemosyne.domain.parsing import Id, Input, Text
from mnemosyne.errors import NotFound
from mnemosyne.http.admin.request import read_request
from mnemosyne.observability import EventLog
from mnemosyne.ports.admin import GrantStore

log = EventLog(__name__)


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
    asked = read_request(GrantRequest, body)
    if asked.action == "list":
        log.info("audit", action="grant_list", outcome="done")
        return {"grants": list(grants.every(asked.person))}
    revoked = list(grants.revoke(asked.ids, asked.person))
    if not revoked:
        raise NotFound(f"no grant of {asked.person or ', '.join(map(str, asked.ids))} stands")
    log.warning("audit", action="revoke_grant", outcome="done", grants=revoked, reason="revoked by the operator")
    return {"revoked": revoked}
