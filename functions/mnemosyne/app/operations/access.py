"""Operations on API keys, on grants of OAuth clients, on lock-outs, on quotas and on the audit trail.

The caller creates the secret of a new key. An operation receives only the hash of the secret.
"""

import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from mnemosyne.adapters.database.owner_store import LockoutKind
from mnemosyne.app.operations.operation import FilledName, Namespace, Operation
from mnemosyne.app.operator import SystemOperator
from mnemosyne.domain.oauth import blocked_name
from mnemosyne.domain.parsing import Id, Instant, Text
from mnemosyne.domain.principal import ApiKey, Scope
from mnemosyne.domain.rfc3339 import instant
from mnemosyne.errors import NotFound
from mnemosyne.service.api_keys import public_fields

Limit = Literal["memories", "bytes", "texts_a_day"]
IDS = 100
"""Maximum number of grants that one operation revokes by id."""


class CreateKey(Operation, action="key_create", changes_as_owner=True):
    """Store a new API key."""

    id: Annotated[Text, Field(pattern=r"^[0-9A-Za-z]{12}$")]
    secret_hash: Annotated[Text, Field(pattern=r"^[0-9a-f]{64}$")]
    name: Annotated[Text, Field(max_length=200)] = ""
    namespace: FilledName = "default"
    scopes: Annotated[
        list[Literal["read", "write", "operate", "admin"]],
        Field(default_factory=lambda: ["read", "write"], min_length=1),
    ]
    expires_at: Instant | None = None

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        converted = {"scopes": frozenset(map(Scope, self.scopes)), "secret_hash": bytes.fromhex(self.secret_hash)}
        operator.keys.create(ApiKey(**self.model_dump() | converted, created_at=datetime.now(UTC)))
        return {"id": self.id}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"key": self.id, "namespace": self.namespace, "scopes": sorted(self.scopes)}


class ListKeys(Operation, action="key_list"):
    """List all API keys, without the hashes of their secrets."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"keys": [public_fields(key) for key in operator.keys.every()]}


class RevokeKey(Operation, action="key_revoke", changes_as_owner=True):
    """Revoke an API key."""

    id: Annotated[Text, Field(min_length=1, max_length=100)]

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        key = operator.keys.revoke(self.id)
        return {"id": key.id, "namespace": key.namespace}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"key": self.id, "namespace": answer["namespace"]}


class ListGrants(Operation, action="grant_list"):
    """List the active grants of one person or of all people, oldest first."""

    person: FilledName | None = None

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"grants": list(operator.grants.every(self.person))}


class RevokeGrants(Operation, action="revoke_grant", changes_as_owner=True):
    """Revoke grants by id, all grants of a person, or both. Fails if no grant matches."""

    ids: list[Id] = Field(default_factory=list, max_length=IDS)
    person: FilledName | None = None

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if not self.ids and self.person is None:
            raise ValueError("revoking grants needs ids or person")
        return self

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        grant_ids = list(operator.grants.revoke(self.ids, self.person))
        if not grant_ids:
            whose = self.person or ", ".join(map(str, self.ids))
            raise NotFound(f"no grant of {whose} is valid: see `mnemosyne grants list`")
        return {"revoked": grant_ids}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"grants": answer["revoked"], "person": self.person, "reason": "revoked by the operator"}


class ListLockouts(Operation, action="lockout_list"):
    """List the people, clients and keys that are locked out, the earliest lock-out first."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"lockouts": operator.lockouts.every()}


class LockOut(Operation, action="lock_out", changes_as_owner=True):
    """Lock out a person, an OAuth client or an API key in all namespaces.

    The grants (OAuth log-ins) of the person or client are revoked.
    """

    kind: LockoutKind
    who: Annotated[Text, Field(max_length=1_000)]
    """E-mail address or subject (user id at the identity provider) of a person, or id of a client, or id of a key."""

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.kind == "person":
            blocked_name(self.who)
        elif not self.who.strip():
            raise ValueError("who must be the id of a client or a key")
        return self

    @property
    def name(self) -> str:
        """The person's address or subject, or the id of the client or key, in the form in which it is stored."""
        return blocked_name(self.who) if self.kind == "person" else self.who

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        return {"kind": self.kind, "who": self.name, "revoked": operator.lockouts.add(self.kind, self.name)}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {self.kind: answer["who"], "grants": answer.get("revoked")}


class UndoLockOut(LockOut, action="let_in"):
    """Undo a lock-out. Grants that the lock-out has revoked stay revoked."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        if not operator.lockouts.undo(self.kind, self.name):
            raise NotFound(f"the {self.kind} {self.name} is not locked out: see `mnemosyne lockouts list`")
        return {"kind": self.kind, "who": self.name}


class ListQuotas(Operation, action="quota_list"):
    """Show usage and limits of one namespace, or of all namespaces. The limits of the namespace '' are the defaults."""

    namespace: Namespace | None = None

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        quotas = operator.quotas.every(self.namespace)
        return {"quotas": [{"namespace": name, **asdict(quota)} for name, quota in quotas]}


class SetQuota(Operation, action="quota_set", changes_as_owner=True):
    """Set limits of a namespace, or the default limits if the namespace is ''.

    If the value of a limit is null, the default limit applies again. For a default limit, null means no limit.
    """

    namespace: Namespace
    limits: Annotated[dict[Limit, Annotated[int, Field(ge=0, lt=2**63)] | None], Field(min_length=1)]

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        operator.quotas.set(self.namespace, self.limits)
        return {"namespace": self.namespace}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {"namespace": self.namespace} | {str(name): limit for name, limit in self.limits.items()}


PAGE = 500
Name = Annotated[Text, Field(min_length=1, max_length=1_000)]


class ListAudit(Operation, action="audit_list"):
    """List the events of the audit trail, oldest first, a page at a time."""

    key: Name | None = None
    person: Name | None = None
    client: Name | None = None
    grant: Name | None = None
    namespace: Namespace | None = None
    of_action: Name | None = None
    since: Annotated[float | None, Field(ge=0)] = None
    """Maximum age of the listed events, in seconds. None means no maximum."""
    after: list[Text] | None = None
    """Time and id of the last event on the previous page."""

    def run(self, operator: SystemOperator) -> dict[str, Any]:
        since = None if self.since is None else datetime.fromtimestamp(max(time.time() - self.since, 0.0), UTC)
        after = (instant(self.after[0]), int(self.after[1])) if self.after else None
        page = operator.audit.page(PAGE, after, **self._filters, action=self.of_action, since=since)
        last = page[-1] if len(page) == PAGE else None
        return {"events": page, "after": [last.at, str(last.id)] if last else None}

    def audit_fields(self, answer: dict[str, Any]) -> dict[str, Any]:
        return {**self._filters, "count": len(answer["events"])}

    @property
    def _filters(self) -> dict[str, Any]:
        return self.model_dump(include={"key", "person", "client", "grant", "namespace"})
