"""The `migrate` function: migrates the database, and manages API keys, quotas and grants.

`POST /` migrates. `POST /keys` creates, lists or revokes API keys. It receives only the hash of a new key, so that a
workflow's log cannot contain the secret. `POST /quotas` shows and sets quotas. `POST /grants` lists and revokes the
grants of OAuth clients. `POST /people` blocks people from logging in.

Only the deployment's own workflow may call it, so error responses contain the cause.
"""

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemosyne.errors import InvalidRequest, NotFound, Unauthorized, Unavailable
from mnemosyne.http.admin.api_keys import manage_keys
from mnemosyne.http.admin.grants import manage_grants
from mnemosyne.http.admin.people import manage_people
from mnemosyne.http.admin.quotas import manage_quotas
from mnemosyne.http.common.health import health_routes
from mnemosyne.observability import EventLog, trace
from mnemosyne.ports.admin import ApiKeyStore, GrantStore, PeopleStore, QuotaStore

log = EventLog(__name__)

RETRY_AFTER = {"Retry-After": "5"}


def build_app(
    migrate: Callable[[], Sequence[str]],
    keys: ApiKeyStore,
    quotas: QuotaStore,
    grants: GrantStore,
    people: PeopleStore,
    *,
    identify: Callable[[str | None], None],
    report: Callable[[str, Exception], str],
) -> Starlette:
    """Build the ASGI app. It runs one operation at a time; other requests wait.

    `migrate` returns the files that it applied. `identify` raises Unauthorized unless the caller is the deployment's
    workflow. IAM already rejects other callers, but a mistake there must not expose the API keys of every namespace.
    `report` logs an error and returns its cause.
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
                return JSONResponse({"error": str(exc)}, status_code=503, headers=RETRY_AFTER)
            body = await request.body()
            with trace(request.headers):
                return await anyio.to_thread.run_sync(_respond, event, lambda: work(body), report, limiter=limiter)

        return post

    operations = {
        "/": endpoint("migration_failed", lambda _: _migrated(migrate)),
        "/quotas": endpoint("quota_change_failed", lambda body: manage_quotas(body, quotas)),
        "/grants": endpoint("grant_change_failed", lambda body: manage_grants(body, grants)),
        "/people": endpoint("people_change_failed", lambda body: manage_people(body, people)),
        "/keys": endpoint("key_change_failed", lambda body: manage_keys(body, keys)),
    }
    return Starlette(
        routes=[*health_routes(), *(Route(path, post, methods=["POST"]) for path, post in operations.items())]
    )


def _respond(event: str, work: Callable[[], dict[str, Any]], report: Callable[[str, Exception], str]) -> Response:
    try:
        return JSONResponse(work())
    except InvalidRequest as exc:
        return JSONResponse({"error": str(exc)}, status_code=400)
    except NotFound as exc:
        return JSONResponse({"error": str(exc)}, status_code=404)
    except Unavailable as exc:
        return JSONResponse({"error": report(event, exc)}, status_code=503, headers=RETRY_AFTER)
    except Exception as exc:  # noqa: BLE001 - the caller and the log need the cause
        return JSONResponse({"error": report(event, exc)}, status_code=500)


def _migrated(migrate: Callable[[], Sequence[str]]) -> dict[str, Any]:
    applied = migrate()
    log.info("migrated", count=len(applied), files=list(applied))
    return {"applied": list(applied)}
