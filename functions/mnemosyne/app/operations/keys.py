"""Operations on API keys.

The caller creates the secret of a new key. An operation receives only the hash of the secret.
"""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from mnemosyne.app.operations.operation import FilledName, Operation
from mnemosyne.app.operator import SystemOperator
from mnemosyne.domain.parsing import Instant, Text
from mnemosyne.domain.principal import ApiKey, Scope
from mnemosyne.service.api_keys import public_fields


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
