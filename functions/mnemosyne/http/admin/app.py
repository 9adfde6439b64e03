"""The `migrate` function: migrates the database, and runs the operations of operators.

`POST /` migrates. `POST /operations` runs an operation, such as one on API keys, dead letters or quotas. Cloud
Scheduler calls `POST /expire`, which removes expired memories, and `POST /announce`, which publishes changes of
memories.

Only the deployment's own workflow may call the function, so error responses contain the cause.
"""

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemosyne.errors import InvalidRequest, Unauthorized, Unavailable
from mnemosyne.http.admin.sealed import Run, SealedOperations
from mnemosyne.http.common.health import health_routes
from mnemosyne.observability import EventLog, trace

log = EventLog(__name__)

RETRY_AFTER = {"Retry-After": "5"}


def build_app(
    migrate: Callable[[], Sequence[str]],
    run: Run,
    *,
    expire: Callable[[], dict[str, Any]],
    announce: Callable[[], dict[str, Any]],
    identify: Callable[[str | None], None],
    report: Callable[[str, Exception], str],
) -> Starlette:
    """Build the ASGI app. It runs one operation at a time; other requests wait.

    `migrate` applies migrations and returns the applied files. `run` runs an operation. `expire` removes expired
    memories. `announce` publishes changes of memories. `report` logs an error and returns its cause.

    `identify` raises Unauthorized for every caller except the deployment's workflow. IAM rejects other callers too, but
    a mistake in IAM must not expose the API keys of every namespace.
    """
    limiter = anyio.CapacityLimiter(1)
    operations = SealedOperations(run, report)

    def endpoint(event: str, work: Callable[[bytes], dict[str, Any]]) -> Callable[[Request], Any]:
        async def post(request: Request) -> Response:
            try:
                await anyio.to_thread.run_sync(identify, request.headers.get("authorization"))
            except Unauthorized as exc:
                log.error(
                    "audit",
                    action=event,
                    outcome="refused",
                    reason=str(exc),
                    cause=str(exc),
                    error=exc.detail or str(exc),
                    next_step="run `make deploy`, which sets the caller's service account and the audience",
                )
                return JSONResponse({"error": str(exc)}, status_code=401)
            except Unavailable as exc:
                return JSONResponse({"error": str(exc)}, status_code=503, headers=RETRY_AFTER)
            body = await request.body()
            with trace(request.headers):
                return await anyio.to_thread.run_sync(_respond, event, lambda: work(body), report, limiter=limiter)

        return post

    paths = {
        "/": endpoint("migration_failed", lambda _: _migrate_and_log(migrate)),
        "/operations": endpoint("operation_failed", operations.answer),
        "/expire": endpoint("expiry_failed", lambda _: expire()),
        "/announce": endpoint("announcement_failed", lambda _: announce()),
    }
    return Starlette(routes=[*health_routes(), *(Route(path, post, methods=["POST"]) for path, post in paths.items())])


def _respond(event: str, work: Callable[[], dict[str, Any]], report: Callable[[str, Exception], str]) -> Response:
    try:
        return JSONResponse(work())
    except InvalidRequest as exc:
        return JSONResponse({"error": str(exc)}, status_code=400)
    except Unavailable as exc:
        return JSONResponse({"error": report(event, exc)}, status_code=503, headers=RETRY_AFTER)
    except Exception as exc:  # noqa: BLE001 - the caller and the log need the cause
        return JSONResponse({"error": report(event, exc)}, status_code=500)


def _migrate_and_log(migrate: Callable[[], Sequence[str]]) -> dict[str, Any]:
    applied = migrate()
    log.info("migrated", count=len(applied), files=list(applied))
    return {"applied": list(applied)}
