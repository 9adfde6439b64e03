"""The deployed entry points for functions-framework. Each returns the ASGI app that serves the request.

The import opens no connection, because the framework imports this module before it forks its worker.
"""

import functions_framework.aio
from starlette.requests import Request
from starlette.responses import Response

from mnemosyne import bootstrap
from mnemosyne.http.upgrades import ignore_offers_of_http2

ignore_offers_of_http2()


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
    """Pub/Sub pushes of messages that could not be ingested, for the dead-letter subscription."""
    return bootstrap.dead_letter_app()


@functions_framework.aio.http
async def import_object(request: Request) -> Response:
    """Pub/Sub pushes of Cloud Storage's notifications, for the buckets' subscriptions."""
    return bootstrap.import_object_app()


@functions_framework.aio.http
async def auth(request: Request) -> Response:
    """The authorization server: people log in, and clients get tokens."""
    return bootstrap.auth_app()


@functions_framework.aio.http
async def migrate(request: Request) -> Response:
    """Migrations, API keys, quotas and grants, for the deployment's workflows."""
    return bootstrap.migrate_app()
