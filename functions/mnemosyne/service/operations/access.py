"""Operations on grants of OAuth clients, blocked people and quotas."""

from dataclasses import asdict
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from mnemosyne.domain.oauth import blocked_name
from mnemosyne.domain.parsing import Id, Text
from mnemosyne.errors import NotFound
from mnemosyne.ports.operator import Operator
from mnemosyne.service.operations.operation import Operation

Limit = Literal["memories", "bytes", "texts_a_day"]
IDS = 100
"""Most grants that one operation revokes by id."""


class ListGrants(Operation):
    """List active grants, of everybody or one person."""

    action = "grant_list"
    as_owner = True

    person: Annotated[Text | None, Field(min_length=1, max_length=200)] = None

    def run(self, operator: Operator) -> dict[str, Any]:
        """Return the grants, oldest first."""
        return {"grants": list(operator.grants.every(self.person))}


class RevokeGrants(Operation):
    """Revoke grants by id, and all grants of a person."""

    action = "revoke_grant"
    changes = True
    as_owner = True

    ids: list[Id] = Field(default_factory=list, max_length=IDS)
    person: Annotated[Text | None, Field(min_length=1, max_length=200)] = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if not self.ids and self.person is None:
            raise ValueError("revoking grants needs ids or person")
        return self

    def run(self, operator: Operator) -> dict[str, Any]:
        """Revoke the grants. Raises NotFound if no grant matches."""
        revoked = list(operator.grants.revoke(self.ids, self.person))
        if not revoked:
            whose = self.person or ", ".join(map(str, self.ids))
            raise NotFound(f"no grant of {whose} is valid: see `mnemosyne grants list`")
        return {"revoked": revoked}

    def audited(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the grants that were revoked."""
        return {"grants": answer["revoked"], "person": self.person, "reason": "revoked by the operator"}


class ListPeople(Operation):
    """List blocked people."""

    action = "people_list"
    as_owner = True

    def run(self, operator: Operator) -> dict[str, Any]:
        """Return the blocked people, the earliest block first."""
        return {"blocked": list(operator.people.blocked())}


class BlockPerson(Operation):
    """Block a person, which overrides the access rules."""

    action = "block_person"
    changes = True
    as_owner = True

    who: Annotated[Text, Field(max_length=200)]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        blocked_name(self.who)
        return self

    def run(self, operator: Operator) -> dict[str, Any]:
        """Block the person and return the grants that were revoked."""
        who = blocked_name(self.who)
        return {"who": who, "revoked": list(operator.people.block(who))}

    def audited(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the person and the grants that were revoked."""
        return {"person": answer["who"], "grants": answer["revoked"]}


class UnblockPerson(BlockPerson):
    """Let a person log in again."""

    action = "unblock_person"

    def run(self, operator: Operator) -> dict[str, Any]:
        """Unblock the person. Raises NotFound if the person is not blocked."""
        who = blocked_name(self.who)
        if not operator.people.unblock(who):
            raise NotFound(f"{who} is not blocked: see `mnemosyne people list`")
        return {"who": who}

    def audited(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the person."""
        return {"person": answer["who"]}


class ListQuotas(Operation):
    """Show usage and limits of one namespace or all. The empty namespace has the default limits."""

    action = "quota_list"
    as_owner = True

    namespace: Annotated[Text | None, Field(max_length=200)] = None

    def run(self, operator: Operator) -> dict[str, Any]:
        """Return usage and limits."""
        quotas = operator.quotas.every(self.namespace)
        return {"quotas": [{"namespace": name, **asdict(quota)} for name, quota in quotas]}


class SetQuota(Operation):
    """Set limits of a namespace. Null restores a default."""

    action = "quota_set"
    changes = True
    as_owner = True

    namespace: Annotated[Text, Field(max_length=200)]
    limits: Annotated[
        dict[Limit, Annotated[int, Field(ge=0, lt=2**63)] | None],
        Field(min_length=1),
    ]

    def run(self, operator: Operator) -> dict[str, Any]:
        """Set the limits."""
        operator.quotas.set(self.namespace, self.limits)
        return {"namespace": self.namespace}

    def audited(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the namespace and its new limits."""
        return {"namespace": self.namespace} | {str(name): limit for name, limit in self.limits.items()}
