"""The deployed entry points for functions-framework. Each entry point returns the ASGI app that serves the request.

The import of this module opens no connection, because the framework forks its worker afterwards.
"""

import gc

import functions_framework.aio
from starlette.requests import Request
from starlette.responses import Response

# Turn off garbage collection during the imports. Imports leave no garbage, and collections would take a thirtieth of
# the time to the first response.
gc.disable()
from mnemosyne.app import entry_points  # noqa: E402
from mnemosyne.http.common.upgrades import ignore_offers_of_http2  # noqa: E402

gc.enable()

ignore_offers_of_http2()


@functions_framework.aio.http
async def mcp(request: Request) -> Response:
    """Serve the `mcp` function: MCP over Streamable HTTP, for agents."""
    return entry_points.mcp_app()


@functions_framework.aio.http
async def ingest(request: Request) -> Response:
    """Serve the `ingest` function, which stores the memories of messages that Pub/Sub pushes."""
    return entry_points.ingest_app()


@functions_framework.aio.http
async def dead_letter(request: Request) -> Response:
    """Serve the `dead_letter` function, to which Pub/Sub pushes messages that `ingest` could not store."""
    return entry_points.dead_letter_app()


@functions_framework.aio.http
async def import_object(request: Request) -> Response:
    """Serve the `import_object` function, to which Pub/Sub pushes notifications about objects in buckets."""
    return entry_points.import_object_app()


@functions_framework.aio.http
async def auth(request: Request) -> Response:
    """Serve the `auth` function: the authorization server, which logs people in and issues tokens to clients."""
    return entry_points.auth_app()


@functions_framework.aio.http
async def migrate(request: Request) -> Response:
    """Serve the `migrate` function, which applies migrations and runs operators' commands. Workflows call it."""
    return entry_points.migrate_app()
