"""Unmodified OAuth clients with a real browser: from the server's address to a memory and a refresh."""

import asyncio
import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import StdioServerParameters
from mcp.client.auth import OAuthClientProvider
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from mnemosyne.cli.local.functions import free_port
from tests.conformance.oauth.conftest import Place
from tests.conformance.test_suite import SUITE
from tests.oauth_person import Callback
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

JS = Path(__file__).parents[1] / "js"
ASKS = 60
EARLIER = ("2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions of MCP before the newest."""
# If a host name has two addresses, Node.js tries to connect to each for only 250 ms. This is too short on a machine
# with a high load.
PATIENCE = {"NODE_OPTIONS": "--network-family-autoselection-attempt-timeout=30000"}


async def _outcome(client: Client, content: str) -> Any:
    """Store a memory and return its status."""
    queued = await client.call_tool("ingest_memory", {"content": content})
    arguments = {"request_ids": [queued.structured_content["request_id"]]}
    for _ in range(ASKS):
        (row,) = (await client.call_tool("ingest_status", arguments)).structured_content["requests"]
        if row["state"] != "queued":
            break
        await asyncio.sleep(1)
    return row["state"]


class _Storage:
    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class _PythonClient:
    """The Python SDK's client, which opens a browser and listens for the redirect."""

    def __init__(self, place: Place, listener: Callback) -> None:
        self.storage = _Storage()
        self.asked: list[str] = []
        self._place, self._listener = place, listener
        self.provider = OAuthClientProvider(
            server_url=place.url,
            client_metadata=OAuthClientMetadata(client_name="Python SDK", redirect_uris=[listener.url]),
            storage=self.storage,
            redirect_handler=self._open,
            callback_handler=self._come_back,
        )

    async def _open(self, url: str) -> None:
        self.asked.append(await asyncio.to_thread(self._place.person.allow, url))

    async def _come_back(self) -> AuthorizationCodeResult:
        response = self._listener.told
        return AuthorizationCodeResult(code=response["code"], state=response["state"], iss=response["iss"])

    async def remember(self, content: str) -> Any:
        async with (
            httpx2.AsyncClient(auth=self.provider, timeout=60, verify=self._place.trust) as http,
            Client(streamable_http_client(self._place.url, http_client=http)) as client,
        ):
            return await _outcome(client, content)


def test_the_python_sdk_logs_in_with_only_the_address_and_refreshes(place: Place) -> None:
    with Callback().serving() as listener:
        client = _PythonClient(place, listener)
        assert asyncio.run(client.remember("OAuth lets people in")) == "stored"
        assert "Allow Python SDK to use your memory?" in client.asked[0]
        assert f"127.0.0.1:{listener.url.split(':')[2].split('/')[0]}, a program on this device" in client.asked[0]
        first = client.storage.tokens
        assert first and first.refresh_token
        client.provider.context.token_expiry_time = time.time() - 1
        assert asyncio.run(client.remember("and lets them stay")) == "stored"
        second = client.storage.tokens
        assert second and second.refresh_token != first.refresh_token
        assert len(client.asked) == 1, "no browser was needed"


def _next_address(process: "subprocess.Popen[str]", pattern: str) -> str:
    """Return the next address that a client prints for its user to open in a browser."""
    assert process.stdout is not None
    printed = []
    for line in process.stdout:
        printed.append(line)
        if match := re.search(pattern, line):
            return match[1]
    raise AssertionError("".join(printed))


@pytest.mark.parametrize("major", [pytest.param("1", marks=pytest.mark.nightly), "2"])
def test_the_typescript_sdk_logs_in_refreshes_and_is_revoked(place: Place, javascript: str, major: str) -> None:
    environment = {**os.environ, **place.environment, **PATIENCE, "PATH": javascript}
    command = ["node", str(JS / "oauth.mjs"), major, place.url]
    with subprocess.Popen(
        command, cwd=JS, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            redirect = place.person.allow(_next_address(process, r"^OPEN (\S+)"))
            printed, _ = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 0, printed
    assert f"Allow TypeScript SDK {major} to use your memory?" in redirect
    assert json.loads(printed.splitlines()[-1]) == {
        "stored": "stored", "refreshed": "stored", "rotated": True, "revoked": 200, "refused": True, "state": True,
    }  # fmt: skip


def test_mcp_remote_logs_in_and_refreshes(place: Place, javascript: str, tmp_path: Path) -> None:
    """mcp-remote opens the browser with a program of the desktop. If there is none, it prints the address."""
    log = tmp_path / "mcp-remote.log"
    own = {"PATH": javascript, "MCP_REMOTE_CONFIG_DIR": str(tmp_path), "BROWSER": "true"}
    environment = {**os.environ, **place.environment, **PATIENCE, **own}
    command = StdioServerParameters(
        command="mcp-remote",
        args=[place.url, "--host", "127.0.0.1", "--transport", "http-only", "--auth-timeout", "120"],
        env=environment,
    )

    def visit() -> None:
        def address() -> str:
            match = re.search(r"visit(?:ing)?:\s+(http\S+)", log.read_text())
            return match[1] if match else ""

        wait_until(lambda: bool(address()), "mcp-remote says what to visit")
        place.person.allow(address())

    async def remember(content: str, *, log_in: bool) -> Any:
        with log.open("w") as errors:
            visiting = asyncio.create_task(asyncio.to_thread(visit)) if log_in else None
            async with Client(stdio_client(command, errlog=errors), mode="legacy") as client:
                status = await _outcome(client, content)
                if visiting:
                    await visiting
                return status

    assert asyncio.run(remember("mcp-remote logs in", log_in=True)) == "stored"
    (tokens,) = tmp_path.rglob("*_tokens.json")
    saved = json.loads(tokens.read_text())
    tokens.write_text(json.dumps({**saved, "access_token": "expired"}))
    assert asyncio.run(remember("mcp-remote refreshes", log_in=False)) == "stored"
    assert json.loads(tokens.read_text())["refresh_token"] != saved["refresh_token"]


# -- the protocol's own suite

SCENARIOS = ["authorization-server-metadata-endpoint", "authorization-code-grant"]


@pytest.mark.parametrize(
    "version", [*(pytest.param(name, marks=pytest.mark.nightly) for name in EARLIER), "2026-07-28"]
)
def test_the_authorization_server_passes_the_suite(place: Place, javascript: str, version: str) -> None:
    """All scenarios are in one run of the suite, because the second scenario uses metadata that the first one reads."""
    port = free_port()
    registration = {"client_name": "The suite", "redirect_uris": [f"http://127.0.0.1:{port}/callback"]}
    client = httpx.post(f"{place.issuer}/register", json=registration, verify=place.trust).json()["client_id"]
    command = ["node", SUITE, "authorization", "--url", place.issuer, "--client-id", client, "--resource", place.url,
               "--port", str(port), "--spec-version", version]  # fmt: skip
    with subprocess.Popen(
        command, env={**os.environ, **place.environment, **PATIENCE, "PATH": javascript, "NO_COLOR": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        try:
            place.person.allow(_next_address(process, rf"({re.escape(place.issuer)}/authorize\?\S+)"))
            printed, _ = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 0, printed
    for scenario in SCENARIOS:
        assert re.search(rf"{scenario}: \d+ passed, 0 failed", printed), printed
