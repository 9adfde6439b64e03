"""`POST /people` of the `migrate` function: block people, whatever rule lets them in."""

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
    """What to do with whom."""

    action: Literal["list", "block", "unblock"]
    who: Annotated[Text | None, Field(max_length=200)] = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.action != "list":
            blocked_name(self.who or "")
        return self


def manage_people(body: bytes, people: PeopleStore) -> dict[str, Any]:
    """Do what the request asks; raises InvalidRequest, or NotFound if the person to unblock is not blocked."""
    asked = read_request(PeopleRequest, body)
    if asked.action == "list":
        log.info("audit", action="people_list", outcome="done")
        return {"blocked": list(people.blocked())}
    who = blocked_name(asked.who or "")
    if asked.action == "block":
        revoked = list(people.block(who))
        log.warning("audit", action="block_person", outcome="done", person=who, grants=revoked)
        return {"who": who, "revoked": revoked}
    if not people.unblock(who):
        raise NotFound(f"{who} is not blocked: see `mnemosyne people list`")
    log.warning("audit", action="unblock_person", outcome="done", person=who)
    return {"who": who}
