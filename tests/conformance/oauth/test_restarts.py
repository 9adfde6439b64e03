"""After a restart, the Python SDK requests tokens only from the host of the MCP server.

So a redirect on this host to the authorization server would not help the client.
"""

import asyncio
import time

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

MEMORY = "https://memory.example/mcp"
TOKEN = "https://auth.example/token"


class _Storage:
    """The tokens and the registration that the client has saved before its restart."""

    async def get_tokens(self) -> OAuthToken:
        return OAuthToken(access_token="expired", refresh_token="good", expires_in=1)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        raise AssertionError("no server has given tokens")

    async def get_client_info(self) -> OAuthClientInformationFull:
        return OAuthClientInformationFull(client_id="client", redirect_uris=["http://127.0.0.1:3333/callback"])

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        raise AssertionError("no server has registered the client")


async def _requests(status: int, *, knows_expiry: bool) -> list[str]:
    """Return the requests that a restarted client makes if `/token` on the MCP server's host returns `status`."""
    requests: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(f"{request.method} {request.url}")
        is_token = request.url.path == "/token"
        return httpx2.Response(status, headers={"Location": TOKEN}) if is_token else httpx2.Response(200)

    metadata = OAuthClientMetadata(redirect_uris=["http://127.0.0.1:3333/callback"])
    provider = OAuthClientProvider(server_url=MEMORY, client_metadata=metadata, storage=_Storage())
    if knows_expiry:
        provider.context.token_expiry_time = time.time() - 1
    async with httpx2.AsyncClient(auth=provider, transport=httpx2.MockTransport(answer)) as client:
        await client.post(MEMORY)
    return requests


@pytest.mark.parametrize("status", [307, 308, 404])
def test_a_restarted_client_requests_tokens_only_from_the_server_s_host(status: int) -> None:
    requests = asyncio.run(_requests(status, knows_expiry=True))
    assert requests == ["POST https://memory.example/token", f"POST {MEMORY}"]


def test_a_restarted_client_without_a_known_expiry_requests_no_token() -> None:
    assert asyncio.run(_requests(307, knows_expiry=False)) == [f"POST {MEMORY}"]
