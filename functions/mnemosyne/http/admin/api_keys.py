"""`POST /keys` of the `migrate` function: create, list or revoke an API key.

A new key's secret stays with the caller. The request has only its hash, so no log contains the secret.
"""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from mnemosyne.domain.parsing import Input, Instant, Text
from mnemosyne.domain.principal import ApiKey, Scope
from mnemosyne.http.admin.request import read_request
from mnemosyne.observability import EventLog
from mnemosyne.ports.admin import ApiKeyStore
from mnemosyne.service.api_keys import public_fields

log = EventLog(__name__)


class KeyRequest(Input):
    """Body of `POST /keys`."""

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
            raise ValueError("revoking a key needs its id")
        return self


def manage_keys(body: bytes, keys: ApiKeyStore) -> dict[str, Any]:
    """Create, list or revoke keys. Raises InvalidRequest, or NotFound if the key to revoke does not exist."""
    request = read_request(KeyRequest, body)
    if request.action == "list":
        log.info("audit", action="key_list", outcome="done")
        return {"keys": [public_fields(key) for key in keys.every()]}
    if request.action == "revoke":
        key = keys.revoke(request.id or "")
    else:
        key = _key(request)
        keys.create(key)
    log.info("audit", action=f"key_{request.action}", outcome="done", key=key.id, namespace=key.namespace)
    return {"id": key.id}


def _key(request: KeyRequest) -> ApiKey:
    return ApiKey(
        id=request.id or "",
        name=request.name,
        namespace=request.namespace,
        scopes=frozenset(Scope(scope) for scope in request.scopes),
        secret_hash=bytes.fromhex(request.secret_hash or ""),
        created_at=datetime.now(UTC),
        expires_at=request.expires_at,
    )
