"""The `migrate` function: migrates the database, and runs operations for the operator.

`POST /` migrates the database. `POST /operations` runs one operation, for example to change API keys or quotas, or to
publish dead letters again. Cloud Scheduler calls `POST /expire`, which removes expired memories, and `POST /announce`,
which publishes events about changed memories.

Error responses contain the cause, because only the deployment's own workflow and Cloud Scheduler can call the function.
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
WAIT_SECONDS = 10.0
"""Maximum seconds that a request waits for an earlier request. After this time the request gets 429, and the workflow
repeats it for some minutes. The wait must be shorter than the workflow's timeout of 1,800 seconds. Otherwise an
operation could begin after its caller has given up."""


def build_app(
    migrate: Callable[[], Sequence[str]],
    run: Run,
    *,
    expire: Callable[[], dict[str, Any]],
    announce: Callable[[], dict[str, Any]],
    identify: Callable[[str | None], None],
    report: Callable[[str, Exception], str],
) -> Starlette:
    """Build the ASGI app of the `migrate` function.

    The app runs one migration or operation at a time, one expiry at a time, and one announcement at a time. An expiry
    or announcement does not wait for operations, because an operation such as `reembed` can take half an hour. A
    request that waits longer than WAIT_SECONDS for an earlier request gets 429, and its work is not begun.

    `migrate` applies migrations and returns the applied files. `run` runs an operation. `expire` removes expired
    memories. `announce` publishes changes of memories. `report` logs an error and returns its cause.

    `identify` raises Unauthorized for every caller except the deployment's workflow and Cloud Scheduler, which have the
    same service account. IAM also rejects other callers, but a mistake in IAM must not expose the API keys of every
    namespace.
    """
    operations = SealedOperations(run, report)
    operation, expiry, announcement = anyio.Lock(), anyio.Lock(), anyio.Lock()

    def endpoint(event: str, lock: anyio.Lock, work: Callable[[bytes], dict[str, Any]]) -> Callable[[Request], Any]:
        async def post(request: Request) -> Response:
            try:
                await anyio.to_thread.run_sync(identify, request.headers.get("authorization"))
            except Unauthorized as exc:
                return _reject_caller(event, exc)
            except Unavailable as exc:
                return JSONResponse({"error": str(exc)}, status_code=503, headers=RETRY_AFTER)
            body = await request.body()
            with trace(request.headers):
                return await _run_alone(
                    lock, request.url.path, lambda: _run_and_respond(event, lambda: work(body), report)
                )

        return post

    paths = {
        "/": endpoint("migration_failed", operation, lambda _: _migrate_and_log(migrate)),
        "/operations": endpoint("operation_failed", operation, operations.answer),
        "/expire": endpoint("expiry_failed", expiry, lambda _: expire()),
        "/announce": endpoint("announcement_failed", announcement, lambda _: announce()),
    }
    return Starlette(routes=[*health_routes(), *(Route(path, post, methods=["POST"]) for path, post in paths.items())])


def _reject_caller(event: str, exc: Unauthorized) -> Response:
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


async def _run_alone(lock: anyio.Lock, path: str, respond: Callable[[], Response]) -> Response:
    """Wait for the lock, and run `respond` in a thread while this request has the lock.

    If the lock is not free within WAIT_SECONDS, return 429 instead.
    """
    with anyio.move_on_after(WAIT_SECONDS) as wait:
        await lock.acquire()
    if wait.cancelled_caught:
        error = f"an earlier request to {path} still runs: try again when it has ended"
        return JSONResponse({"error": error}, status_code=429, headers=RETRY_AFTER)
    try:
        return await anyio.to_thread.run_sync(respond)
    finally:
        lock.release()


def _run_and_respond(
    event: str, work: Callable[[], dict[str, Any]], report: Callable[[str, Exception], str]
) -> Response:
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
