"""`POST /keys` of the `migrate` function: create, list or revoke an API key.

Of a new key it is told the hash, never the secret, so that none passes through here or through the log of whoever
calls.
"""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from mnemosyne.domain.parsing import Input, Instant, Text
from mnemosyne.domain.principal import ApiKey, Scope
from mnemosyne.http.admin.request import read_request
from mnemosyne.observability import EventLog
from mnemosyne.ports.admin import ApiKeyStore
from mnemosyne.service.api_keys import shown

log = EventLog(__name__)


class KeyRequest(Input):
    """What to do with which key."""

    action: Literal["create", "list", "revoke"]
    id: Annotated[Text | None, Field(pattern=r"^[0-9A-Za-z]{12}$")] = None
    name: Annotated[Text, Field(max_length=200)] = ""
    namespace: Annotated[Text, Field(min_length=1, max_length=200)] = "default"
    scopes: Annotated[
        list[Literal["read", "write", "admin"]], Field(default_factory=lambda: ["read", "write"], min_length=1)
    ]
    secret_hash: Annotated[Text | None, Field(pattern=r"^[0-9a-f]{64}$")] = None
    expires_at: Instant | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.action == "create" and (self.id is None or self.secret_hash is None):
            raise ValueError("a new key needs id and secret_hash")
        if self.action == "revoke" and self.id is None:
            raise ValueError("id says which key to revoke")
        return self


def manage_keys(body: bytes, keys: ApiKeyStore) -> dict[str, Any]:
    """Do what the request asks; raises InvalidRequest, or NotFound where the key to revoke is not there."""
    asked = read_request(KeyRequest, body)
    if asked.action == "list":
        log.info("audit", action="key_list", outcome="done")
        return {"keys": [shown(key) for key in keys.every()]}
    if asked.action == "revoke":
        key = keys.revoke(asked.id or "")
    else:
        key = _key(asked)
        keys.create(key)
    log.info("audit", action=f"key_{asked.action}", outcome="done", key=key.id, namespace=key.namespace)
    return {"id": key.id}


def _key(asked: KeyRequest) -> ApiKey:
    return ApiKey(
        id=asked.id or "",
        name=asked.name,
        namespace=asked.namespace,
        scopes=frozenset(Scope(scope) for scope in asked.scopes),
        secret_hash=bytes.fromhex(asked.secret_hash or ""),
        created_at=datetime.now(UTC),
        expires_at=asked.expires_at,
    )
