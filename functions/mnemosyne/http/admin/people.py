"""`POST /people` of the `migrate` function: block people, which overrides the access rules."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from mnemosyne.domain.oauth import blocked_name
from mnemosyne.domain.parsing import Input, Text
from mnemosyne.errors import NotFound
from mnemosyne.http.admin.request import read_request
from mnemosyne.observability import EventLog
from mnemosyne.ports.admin import PeopleStore

log = EventLog(__name__)


class PeopleRequest(Input):
    """Body of `POST /people`."""

    action: Literal["list", "block", "unblock"]
    who: Annotated[Text | None, Field(max_length=200)] = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.action != "list":
            blocked_name(self.who or "")
        return self


def manage_people(body: bytes, people: PeopleStore) -> dict[str, Any]:
    """List, block or unblock people. Raises InvalidRequest, or NotFound if the person to unblock is not blocked."""
    request = read_request(PeopleRequest, body)
    if request.action == "list":
        log.info("audit", action="people_list", outcome="done")
        return {"blocked": list(people.blocked())}
    who = blocked_name(request.who or "")
    if request.action == "block":
        revoked = list(people.block(who))
        log.warning("audit", action="block_person", outcome="done", person=who, grants=revoked)
        return {"who": who, "revoked": revoked}
    if not people.unblock(who):
        raise NotFound(f"{who} is not blocked: see `mnemosyne people list`")
    log.warning("audit", action="unblock_person", outcome="done", person=who)
    return {"who": who}
