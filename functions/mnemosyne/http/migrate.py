"""The `migrate` function: brings the schema up to date, and keeps API keys, for those whom IAM lets in.

`POST /` migrates. `POST /quotas` shows and sets quotas. `POST /keys` creates, lists or revokes a key: of a new one it
is told the hash, never the secret, so that none passes through here or through the log of whoever calls.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Protocol, Self

import anyio
import anyio.to_thread
import orjson
from pydantic import Field, model_validator
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemosyne.domain.parsing import Input, Instant, Text, parse
from mnemosyne.domain.principal import ApiKey, Scope
from mnemosyne.domain.quota import Quota
from mnemosyne.errors import InvalidRequest, MnemosyneError, NotFound, Unauthorized, Unavailable
from mnemosyne.http.health import health_routes
from mnemosyne.observability import EventLog, trace

log = EventLog(__name__)


class KeyStore(Protocol):
    """API keys, as their keeper sees them."""

    def create(self, key: ApiKey) -> None:
        """Keep a new key."""

    def every(self) -> Sequence[ApiKey]:
        """All keys, oldest first."""

    def revoke(self, key_id: str) -> ApiKey:
        """The key, which opens nothing any more; raises NotFound."""


class QuotaStore(Protocol):
    """Quotas, as their keeper sees them."""

    def every(self, namespace: str | None = None) -> Sequence[tuple[str, Quota]]:
        """What each namespace, or that one, holds and may hold; everybody's limits under the empty name."""

    def set(self, namespace: str, limits: Mapping[Any, int | None]) -> None:
        """Set some limits; None is everybody's."""


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


class QuotaRequest(Input):
    """What to do with which namespace's quota; the empty name is everybody's."""

    action: Literal["list", "set"]
    namespace: Annotated[Text | None, Field(max_length=200)] = None
    limits: dict[Literal["memories", "bytes", "texts_a_day"], Annotated[int, Field(ge=0, lt=2**63)] | None] = Field(
        default_factory=dict
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.action == "set" and (self.namespace is None or not self.limits):
            raise ValueError("setting a quota needs namespace and limits")
        return self


def build_app(
    migrate: Callable[[], Sequence[str]], keys: KeyStore, quotas: QuotaStore, *, identify: Callable[[str | None], None]
) -> Starlette:
    """The ASGI app; `migrate` applies what is missing and names it. One thing runs at a time, the others wait.

    `identify` raises Unauthorized where it is not our own workflow that calls: IAM lets nobody else in, and whoever
    changes that by mistake must not have opened the keys of every namespace.
    """
    limiter = anyio.CapacityLimiter(1)

    def endpoint(event: str, work: Callable[[bytes], dict[str, Any]]) -> Callable[[Request], Any]:
        async def post(request: Request) -> Response:
            try:
                await anyio.to_thread.run_sync(identify, request.headers.get("authorization"))
            except Unauthorized as exc:
                log.error("audit", action=event, outcome="refused", reason=str(exc))
                return JSONResponse({"error": str(exc)}, status_code=401)
            except Unavailable as exc:
                return JSONResponse({"error": str(exc)}, status_code=503, headers={"Retry-After": "5"})
            body = await request.body()
            with trace(request.headers):
                return await anyio.to_thread.run_sync(_answered, event, lambda: work(body), limiter=limiter)

        return post

    return Starlette(
        routes=[
            *health_routes(),
            Route("/", endpoint("migration_failed", lambda _: _migrated(migrate)), methods=["POST"]),
            Route("/quotas", endpoint("quota_change_failed", lambda body: _allotted(body, quotas)), methods=["POST"]),
            Route("/keys", endpoint("key_change_failed", lambda body: _managed(body, keys)), methods=["POST"]),
        ]
    )


def _answered(event: str, work: Callable[[], dict[str, Any]]) -> Response:
    try:
        return JSONResponse(work())
    except InvalidRequest as exc:
        return JSONResponse({"error": str(exc)}, status_code=400)
    except NotFound as exc:
        return JSONResponse({"error": str(exc)}, status_code=404)
    except MnemosyneError as exc:
        log.error(event, error=str(exc))
        return JSONResponse({"error": str(exc)}, status_code=500)
    except Exception:  # the edge: whoever called must see that it failed, and the log why
        log.exception(event)
        return JSONResponse({"error": "it failed; the log says why"}, status_code=500)


def _migrated(migrate: Callable[[], Sequence[str]]) -> dict[str, Any]:
    applied = migrate()
    log.info("migrated", count=len(applied))
    return {"applied": list(applied)}


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise InvalidRequest(f"the request must be JSON: {exc}") from exc


def _allotted(body: bytes, quotas: QuotaStore) -> dict[str, Any]:
    asked = parse(QuotaRequest, _json(body), of="the request")
    log.info("audit", action=f"quota_{asked.action}", outcome="done", namespace=asked.namespace, **asked.limits)
    if asked.action == "set":
        quotas.set(asked.namespace or "", asked.limits)
        return {"namespace": asked.namespace}
    return {"quotas": [{"namespace": name, **asdict(quota)} for name, quota in quotas.every(asked.namespace)]}


def _managed(body: bytes, keys: KeyStore) -> dict[str, Any]:
    asked = parse(KeyRequest, _json(body), of="the request")
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


def shown(key: ApiKey) -> dict[str, Any]:
    """A key as it may be shown: without its hash."""
    return {
        "id": key.id,
        "name": key.name,
        "namespace": key.namespace,
        "scopes": sorted(key.scopes),
        "created_at": key.created_at.isoformat(),
        "expires_at": key.expires_at and key.expires_at.isoformat(),
        "revoked_at": key.revoked_at and key.revoked_at.isoformat(),
    }
