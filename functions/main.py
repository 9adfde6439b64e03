"""The deployed entry points, for functions-framework: each answers with the ASGI app that does the work.

Importing this connects to nothing: the framework imports it before it forks its worker.
"""

import functions_framework.aio
from starlette.requests import Request
from starlette.responses import Response

from mnemosyne import bootstrap


@functions_framework.aio.http
async def mcp(request: Request) -> Response:
    """MCP over Streamable HTTP, for agents."""
    return bootstrap.mcp_app()


@functions_framework.aio.http
async def ingest(request: Request) -> Response:
    """Pub/Sub pushes, for the subscription."""
    return bootstrap.ingest_app()


@functions_framework.aio.http
async def dead_letter(request: Request) -> Response:
    """Pub/Sub pushes of what could not be ingested, for the dead-letter subscription."""
    return bootstrap.dead_letter_app()


@functions_framework.aio.http
async def import_object(request: Request) -> Response:
    """Pub/Sub pushes of Cloud Storage's notifications, for the buckets' subscriptions."""
    return bootstrap.import_object_app()


@functions_framework.aio.http
async def auth(request: Request) -> Response:
    """Give tokens: the authorization server, for people who log in and clients that ask."""
    return bootstrap.auth_app()


@functions_framework.aio.http
async def migrate(request: Request) -> Response:
    """Return the schema brought up to date, for the deployment."""
    return bootstrap.migrate_app()
