"""A request to the authorization server: read with bounds, handled in a thread, answered whatever is wrong."""

import inspect
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast
from urllib.parse import parse_qsl

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from mnemosyne.domain.oauth import REQUEST_SECONDS
from mnemosyne.errors import (
    Conflict,
    InvalidRequest,
    Misconfigured,
    MnemosyneError,
    NotFound,
    OverBudget,
    Unauthorized,
    Unavailable,
)
from mnemosyne.http.auth import pages
from mnemosyne.http.auth.rate_limits import Door
from mnemosyne.http.common import body as bodies
from mnemosyne.http.common.client_address import client_address
from mnemosyne.http.common.rate_limit import NetworkBudgets
from mnemosyne.observability import EventLog, trace

log = EventLog(__name__)

BODY_BYTES = 64 * 1024
QUERY_LENGTH = 16_000
THREADS = 5
THREADS_OF_PROVIDER = 3
"""Threads of requests that may wait for the identity provider; while it is silent, the others go on. Together there are
as many threads as connections to the database."""

_LIMITERS: RunVar[dict[bool, anyio.CapacityLimiter]] = RunVar("limiters")


@dataclass(frozen=True)
class Call:
    """One request, read."""

    query: list[tuple[str, str]]
    form: list[tuple[str, str]]
    body: bytes
    address: str
    origin: str | None
    cookie: str
    """This browser's secret of the request that the call names; empty if it has none."""
    door: Door

    @property
    def id(self) -> str:
        """The request that the call is about; an identity provider sends it back as the state."""
        return self.given("request") or self.given("state")

    def given(self, name: str) -> str:
        """Return the first value of a parameter, of the form or else of the query; empty where there is none."""
        return next((value for one, value in [*self.form, *self.query] if one == name), "")


@dataclass(frozen=True)
class Edge:
    """What stands in front of each endpoint: the issuer's address, and how much one caller may ask."""

    issuer: str
    proxies: int | None
    _budgets: dict[str, NetworkBudgets] = field(default_factory=dict)

    @property
    def secure(self) -> bool:
        """Whether browsers come by TLS."""
        return self.issuer.startswith("https:")

    def cookie_name(self, id_: str) -> str:
        """Return the name of a request's cookie. Each has its own, so that two log-ins in one browser go on.

        With TLS no other host and no page without TLS can set it (RFC 6265bis).
        """
        name = f"mnemosyne-auth-{id_[:16]}"
        return f"__Host-{name}" if self.secure else name

    def set_cookie(self, response: Response, id_: str, cookie: str) -> None:
        """Have the browser show the cookie again, to us alone, also when it comes back from the log-in elsewhere."""
        response.set_cookie(
            self.cookie_name(id_), cookie, max_age=REQUEST_SECONDS, secure=self.secure, httponly=True, samesite="lax"
        )

    def delete_cookie(self, response: Response, id_: str) -> None:
        """Have the browser forget the cookie."""
        response.delete_cookie(self.cookie_name(id_), secure=self.secure, httponly=True, samesite="lax")

    def endpoint(
        self, handle: Callable[[Call], Response | Awaitable[Response]], door: Door, *, as_page: bool
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return the endpoint, held to the door's budget; its errors are a page for people or JSON for clients.

        A function runs in a thread, a coroutine function on the event loop.
        """

        async def in_thread(call: Call) -> Response:
            return await self.in_thread(call, partial(cast("Callable[[Call], Response]", handle), call))

        is_async = inspect.iscoroutinefunction(handle)
        work = cast("Callable[[Call], Awaitable[Response]]", handle) if is_async else in_thread

        async def answer(request: Request) -> Response:
            with trace(request.headers):
                try:
                    self.spend(client_address(request.scope, request.headers, self.proxies), door)
                    call = await self._read(request, door)
                    response = await work(call)
                except MnemosyneError as exc:
                    response = self._refused(exc, as_page=as_page)
                except Exception:
                    log.exception("auth_crashed", path=request.url.path)
                    response = self._refused(Misconfigured("a fault of our own: its log says which"), as_page=as_page)
            for name, value in pages.security_headers(secure=self.secure).items():
                response.headers.setdefault(name, value)
            return response

        answer.door = door  # type: ignore[attr-defined]
        return answer

    def published(
        self, handle: Callable[[Request], Awaitable[Response]], door: Door
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint that answers everybody the same from memory, held to the door's budget."""

        async def answer(request: Request) -> Response:
            try:
                self.spend(client_address(request.scope, request.headers, self.proxies), door)
            except OverBudget as exc:
                return self._refused(exc, as_page=False)
            return await handle(request)

        answer.door = door  # type: ignore[attr-defined]
        return answer

    def spend(self, address: str, door: Door) -> None:
        """Count a request of that address; raises OverBudget if its network has used up the door's budget."""
        budgets = self._budgets.setdefault(door.name, NetworkBudgets(door.per_minute))
        if seconds := budgets.spend(address):
            raise OverBudget(f"too many requests came from the network of {address}: try again in {seconds} s", seconds)

    async def in_thread(self, call: Call, work: Callable[[], Response]) -> Response:
        """Run the work in a thread; of those that may wait for the identity provider there are few."""
        limiters = _LIMITERS.get(None)
        if limiters is None:
            limiters = {True: anyio.CapacityLimiter(THREADS_OF_PROVIDER), False: anyio.CapacityLimiter(THREADS)}
            _LIMITERS.set(limiters)
        return await anyio.to_thread.run_sync(work, limiter=limiters[call.door.asks_provider])

    async def _read(self, request: Request, door: Door) -> Call:
        host = request.headers.get("host", "")
        if host != self.issuer.partition("://")[2].partition("/")[0]:
            raise InvalidRequest(f"Host must be that of {self.issuer}")
        try:
            with anyio.fail_after(bodies.BODY_SECONDS):
                body = await bodies.read(request.receive, BODY_BYTES)
        except TimeoutError as exc:
            raise InvalidRequest(f"the request did not arrive within {bodies.BODY_SECONDS} s") from exc
        query = request.url.query
        if body is None or len(query) > QUERY_LENGTH:
            raise InvalidRequest(f"a request has at most {BODY_BYTES:,} bytes, and a query of {QUERY_LENGTH:,}")
        form = body if "x-www-form-urlencoded" in request.headers.get("content-type", "") else b""
        call = Call(
            query=_pairs(query),
            form=_pairs(form.decode("utf-8", "replace")),
            body=body,
            address=client_address(request.scope, request.headers, self.proxies),
            origin=request.headers.get("origin"),
            cookie="",
            door=door,
        )
        cookie = request.cookies.get(self.cookie_name(call.id), "")
        return replace(call, cookie=cookie) if len(cookie) == len(new_secret()) and cookie.isascii() else call

    def _refused(self, exc: MnemosyneError, *, as_page: bool) -> Response:
        status, error = _status(exc)
        message = str(exc) if status < 500 else "this cannot be done at the moment: try again in a while"
        headers = {"Retry-After": str(getattr(exc, "seconds", 5))} if status in (429, 503) else None
        if status >= 500:
            log.error("auth_unavailable", error=str(exc))
        if as_page:
            page = pages.told(self.issuer, "This did not work", message, status)
            page.headers.update(headers or {})
            return page
        return JSONResponse({"error": error, "error_description": message}, status, headers)


def redirect(url: str) -> Response:
    """Send the browser on, by GET."""
    return RedirectResponse(url, 303)


def new_secret() -> str:
    """Return 256 random bits."""
    return secrets.token_urlsafe(32)


def _status(exc: MnemosyneError) -> tuple[int, str]:
    if isinstance(exc, OverBudget):
        return 429, "slow_down"
    if isinstance(exc, Unauthorized):
        return 403, "access_denied"
    if isinstance(exc, NotFound | Conflict):
        return 409, "invalid_request"
    if isinstance(exc, Unavailable | Misconfigured):
        return 503, "temporarily_unavailable"
    return 400, "invalid_request"


def _pairs(encoded: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(encoded, keep_blank_values=True, max_num_fields=50)
    except ValueError as exc:
        raise InvalidRequest("a request has at most 50 parameters") from exc
