"""The `migrate` function: one POST brings the schema up to date, and its answer says how that went."""

from collections.abc import Callable, Sequence

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mnemosyne.errors import MnemosyneError
from mnemosyne.observability import EventLog, trace

log = EventLog(__name__)


def build_app(migrate: Callable[[], Sequence[str]]) -> Starlette:
    """The ASGI app; `migrate` applies what is missing and names it. One runs at a time, the others wait."""
    limiter = anyio.CapacityLimiter(1)

    def run() -> Response:
        try:
            applied = migrate()
        except MnemosyneError as exc:
            log.error("migration_failed", error=str(exc))
            return JSONResponse({"error": str(exc)}, status_code=500)
        except Exception:  # the edge: whoever deploys must see that it failed, and the log why
            log.exception("migration_failed")
            return JSONResponse({"error": "the migration failed; the log says why"}, status_code=500)
        log.info("migrated", count=len(applied))
        return JSONResponse({"applied": list(applied)})

    async def post(request: Request) -> Response:
        with trace(request.headers):
            return await anyio.to_thread.run_sync(run, limiter=limiter)

    async def healthz(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    return Starlette(routes=[Route("/healthz", healthz, methods=["GET"]), Route("/", post, methods=["POST"])])
