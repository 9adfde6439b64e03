"""The deployed entry points for functions-framework. Each entry point returns the ASGI app that serves the request.

The import of this module opens no connection. The framework forks its worker process after the import, and two
processes must not share a connection.
"""

import gc
from collections.abc import Callable
from typing import Any

import functions_framework.aio
from starlette.requests import Request

# Turn off garbage collection during the imports. Imports leave no garbage, and collections would take a thirtieth of
# the time to the first response.
gc.disable()
from mnemosyne.app import entry_points  # noqa: E402
from mnemosyne.http.common.upgrades import ignore_offers_of_http2  # noqa: E402

gc.enable()

ignore_offers_of_http2()


def _register(build_app: Callable[[], Any]) -> Callable[[Request], Any]:
    """Register a deployed function with functions-framework. For example, `mcp_app` builds the app of `mcp`."""

    async def function(request: Request) -> Any:
        return build_app()

    function.__name__ = build_app.__name__.removesuffix("_app")
    return functions_framework.aio.http(function)


mcp = _register(entry_points.mcp_app)
ingest = _register(entry_points.ingest_app)
dead_letter = _register(entry_points.dead_letter_app)
import_object = _register(entry_points.import_object_app)
auth = _register(entry_points.auth_app)
migrate = _register(entry_points.migrate_app)
