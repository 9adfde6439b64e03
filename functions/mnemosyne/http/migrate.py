"""The `migrate` function: brings the schema up to date, and keeps keys, quotas and grants, for those whom IAM lets in.

`POST /` migrates. `POST /quotas` shows and sets quotas. `POST /grants` lists and ends what people have let clients do.
`POST /keys` creates, lists or revokes a key: of a new one it is told the hash, never the secret, so that none passes
through here or through the log of whoever calls.
"""

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemosyne.errors import InvalidRequest, MnemosyneError, NotFound, Unauthorized, Unavailable
from mnemosyne.http.api_keys import ApiKeyStore, manage_keys
from mnemosyne.http.grants import GrantStore, manage_grants
from mnemosyne.http.health import health_routes
from mnemosyne.http.quotas import QuotaStore, manage_quotas
from mnemosyne.observability import EventLog, trace

log = EventLog(__name__)


def build_app(
    migrate: Callable[[], Sequence[str]],
    keys: ApiKeyStore,
    quotas: QuotaStore,
    grants: GrantStore,
    *,
    identify: Callable[[str | None], None],
) -> Starlette:
    """Return the ASGI app; `migrate` applies what is missing and names it. One thing runs at a time, the others wait.

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
            Route(
                "/quotas", endpoint("quota_change_failed", lambda body: manage_quotas(body, quotas)), methods=["POST"]
            ),
            Route(
                "/grants", endpoint("grant_change_failed", lambda body: manage_grants(body, grants)), methods=["POST"]
            ),
            Route("/keys", endpoint("key_change_failed", lambda body: manage_keys(body, keys)), methods=["POST"]),
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
