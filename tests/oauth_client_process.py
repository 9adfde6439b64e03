"""A client process. For each line of its input, the Python SDK refreshes the tokens in a shared file."""

import asyncio
import sys
import time
from pathlib import Path

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

REDIRECT = "http://127.0.0.1:3333/callback"


class FileStorage:
    """Tokens in a file that several processes read and replace."""

    def __init__(self, file: Path, client_id: str) -> None:
        self._file, self._client_id = file, client_id

    async def get_tokens(self) -> OAuthToken:
        return OAuthToken.model_validate_json(self._file.read_text())

    async def set_tokens(self, tokens: OAuthToken) -> None:
        replacement = self._file.with_suffix(f".{time.time_ns()}")
        replacement.write_text(tokens.model_dump_json())
        replacement.replace(self._file)

    async def get_client_info(self) -> OAuthClientInformationFull:
        return OAuthClientInformationFull(client_id=self._client_id, redirect_uris=[REDIRECT])

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        raise AssertionError("the client is registered")


async def _as_through_the_front_end(request: httpx2.Request) -> None:
    request.headers.update({"Host": "auth.example", "X-Forwarded-For": "203.0.113.9"})


async def main(url: str, file: str, client_id: str) -> None:
    """Print the access token of each refresh, or "logged out"."""
    metadata = OAuthClientMetadata(redirect_uris=[REDIRECT])
    provider = OAuthClientProvider(url, metadata, FileStorage(Path(file), client_id))
    hooks = {"request": [_as_through_the_front_end]}
    async with httpx2.AsyncClient(auth=provider, timeout=30, event_hooks=hooks) as client:
        # The first request reads the file, before any process refreshes.
        await client.post(url)
        print("ready", flush=True)
        for _ in sys.stdin:
            provider.context.token_expiry_time = time.time() - 1
            await client.post(url)
            tokens = provider.context.current_tokens
            print(tokens.access_token if tokens else "logged out", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
