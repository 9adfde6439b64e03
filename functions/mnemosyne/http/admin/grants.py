"""`POST /grants` of the `migrate` function: list and revoke the grants of OAuth clients."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from mnemosyne.domain.parsing import Id, Input, Text
from mnemosyne.errors import NotFound
from mnemosyne.http.admin.request import read_request
from mnemosyne.observability import EventLog
from mnemosyne.ports.admin import GrantStore

log = EventLog(__name__)


class GrantRequest(Input):
    """Body of `POST /grants`."""

    action: Literal["list", "revoke"]
    ids: Annotated[list[Id], Field(max_length=100, default_factory=list)]
    person: Annotated[Text | None, Field(min_length=1, max_length=200)] = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.action == "revoke" and not self.ids and self.person is None:
            raise ValueError("revoking grants needs ids or person")
        return self


def manage_grants(body: bytes, grants: GrantStore) -> dict[str, Any]:
    """List or revoke grants. Raises InvalidRequest, or NotFound if no grant matches."""
    request = read_request(GrantRequest, body)
    if request.action == "list":
        log.info("audit", action="grant_list", outcome="done")
        return {"grants": list(grants.every(request.person))}
    revoked = list(grants.revoke(request.ids, request.person))
    if not revoked:
        raise NotFound(f"no grant of {request.person or ', '.join(map(str, request.ids))} is active")
    log.warning("audit", action="revoke_grant", outcome="done", grants=revoked, reason="revoked by the operator")
    return {"revoked": revoked}
