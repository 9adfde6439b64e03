"""The authorization server, in the test's process and with PostgreSQL, and requests of clients and browsers."""

import base64
import hashlib
import html
import re
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import anyio
import httpx
import jwt
from anyio.from_thread import BlockingPortal
from starlette.testclient import TestClient

from mnemosyne.adapters.database.oauth import OAuthStore
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.identity.log_in_code import LogInCode
from mnemosyne.adapters.signing.key_files import KeyFiles
from mnemosyne.domain.oauth import PeopleRule
from mnemosyne.errors import InvalidRequest
from mnemosyne.http.auth.app import build_app
from mnemosyne.http.auth.call import Gateway
from mnemosyne.oauth.clients import Clients
from mnemosyne.oauth.flow import Flow
from mnemosyne.oauth.server import Issuer
from mnemosyne.ports.identity import LogIn

ISSUER = "https://auth.example"
RESOURCE = "https://memory.example/mcp"
REDIRECT = "http://127.0.0.1:3333/callback"
VERIFIER = "a" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


@cache
def _event_loop() -> BlockingPortal:
    """An event loop in a thread, which handles all requests.

    TestClient would start two event loops for each request.
    """
    started: Future[BlockingPortal] = Future()

    async def serve() -> None:
        async with BlockingPortal() as portal:
            started.set_result(portal)
            await portal.sleep_until_stopped()

    Thread(target=anyio.run, args=(serve,), daemon=True).start()
    return started.result()


class Documents:
    """Fake of the web, from which the server reads the metadata documents of clients."""

    def __init__(self) -> None:
        self.found: dict[str, bytes] = {}

    async def fetch(self, client_id: str, address: str) -> bytes:
        if client_id not in self.found:
            raise InvalidRequest(f"{client_id} must answer 200")
        return self.found[client_id]


class AuthServer:
    """The app with its services, and the requests of a client."""

    def __init__(self, pool: Pool, home: Path, rules: Sequence[PeopleRule], log_in: LogIn | None = None) -> None:
        self.codes = home / "codes"
        self.codes.touch()
        self.signer = KeyFiles(home / "keys")
        self.documents = Documents()
        store = OAuthStore(pool)
        self.clients = clients = Clients(store, self.documents)
        issuer = Issuer(ISSUER, (RESOURCE,), self.signer)
        self.flow = flow = Flow(issuer, store, clients, log_in or LogInCode(self.codes), rules)
        self.gateway = Gateway(ISSUER, 0)
        self.app = build_app(flow, clients, self.gateway)

    def browser(self, address: str = "203.0.113.7") -> TestClient:
        """A new browser or client, with its own cookies."""
        headers = {"X-Forwarded-For": address}
        client = TestClient(self.app, base_url=ISSUER, follow_redirects=False, headers=headers)
        client.portal = _event_loop()
        return client

    def register(self, redirect_uri: str = REDIRECT, **metadata: Any) -> str:
        """Register a client, and return its id."""
        posted = {"client_name": "A test", "redirect_uris": [redirect_uri], **metadata}
        answer = self.browser(f"198.51.100.{secrets.randbelow(250)}").post("/register", json=posted)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["client_id"])

    def code(self) -> str:
        """Return the newest log-in code that the server has issued."""
        return self.codes.read_text().splitlines()[-1].split()[0]


def authorization_path(client_id: str, resource: str | None = RESOURCE, **changed: str | None) -> str:
    """Return the path that a client opens in the browser to ask for authorization.

    Parameters with the value None are left out.
    """
    parameters: Mapping[str, str | None] = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": REDIRECT,
        "scope": "read write",
        "state": "of-the-client",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "resource": resource,
        **changed,
    }
    return f"/authorize?{urlencode({name: value for name, value in parameters.items() if value is not None})}"


class Visit:
    """The steps of a person's log-in, from the client's link to the redirect to the client."""

    def __init__(self, server: AuthServer, browser: TestClient | None = None) -> None:
        self.server = server
        self.browser = browser or server.browser()
        self.id = ""

    def open(self, path: str) -> Any:
        """Open the path to which the client has sent the browser."""
        answer = self.browser.get(path)
        self.id = dict(parse_qsl(urlsplit(answer.headers.get("Location", "")).query)).get("request", "")
        return answer

    def log_in(self, code: str | None = None) -> Any:
        """Type the log-in code that the server has printed in the terminal."""
        return self.browser.post("/log-in", data={"request": self.id, "code": code or self.server.code()})

    def look(self) -> Any:
        """Open the consent page."""
        return self.browser.get(f"/consent?request={self.id}")

    def answer(self, answer: str = "allow", **headers: str) -> Any:
        """Press a button of the consent page: `allow` or another answer."""
        return self.browser.post("/consent", data={"request": self.id, "answer": answer}, headers=headers)

    def to_the_end(self, client_id: str, **changed: str | None) -> dict[str, str]:
        """Complete all steps of the flow, and return the parameters of the redirect to the client."""
        assert self.open(authorization_path(client_id, **changed)).status_code == 303
        assert self.log_in().headers["Location"].startswith(f"{ISSUER}/consent"), "not logged in"
        answer = self.look()
        if answer.status_code != 303:
            assert answer.status_code == 200, answer.text
            answer = self.answer()
        return redirect_parameters(answer)


def logged_in(server: AuthServer, client_id: str = "", **changed: str | None) -> Visit:
    """Return a visit in which the person has logged in. Without a client id, a client is registered."""
    visit = Visit(server)
    visit.open(authorization_path(client_id or server.register(), **changed))
    visit.log_in()
    return visit


def tokens_of(server: AuthServer, **changed: str | None) -> tuple[str, dict[str, Any]]:
    """Register a client, complete its flow, and return its id and its tokens."""
    client = server.register()
    answer = exchange(server.browser(), client, Visit(server).to_the_end(client, **changed)["code"])
    assert answer.status_code == 200, answer.text
    return client, dict(answer.json())


def claims_of(tokens: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims of the access token in an answer of the token endpoint."""
    return dict(jwt.decode(tokens["access_token"], options={"verify_signature": False}))


def redirect_parameters(answer: Any) -> dict[str, str]:
    """Return the parameters of the URL to which a response redirects."""
    assert answer.status_code == 303, answer.text
    return dict(parse_qsl(urlsplit(answer.headers["Location"]).query))


def back(page: Any) -> dict[str, str]:
    """Return the parameters of the URL that a page links to."""
    assert "Location" not in page.headers
    link = re.search(r'href="([^"]+)" rel', page.text)
    assert link, page.text
    return dict(parse_qsl(urlsplit(html.unescape(link[1])).query))


def exchange(client: TestClient | httpx.Client, client_id: str, code: str, **changed: str | None) -> Any:
    """Exchange a code for tokens."""
    form = {
        "grant_type": "authorization_code",
        "client_id": client_id,
        "code": code,
        "redirect_uri": REDIRECT,
        "code_verifier": VERIFIER,
        "resource": RESOURCE,
        **changed,
    }
    return client.post("/token", data={name: value for name, value in form.items() if value is not None})


def refresh(client: TestClient | httpx.Client, client_id: str, token: str, **changed: str) -> Any:
    """Exchange a refresh token for new tokens."""
    form = {"grant_type": "refresh_token", "client_id": client_id, "refresh_token": token, **changed}
    return client.post("/token", data=form)
