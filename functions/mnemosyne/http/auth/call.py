"""Read, rate-limit and answer requests to the authorization server."""

import inspect
import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias, cast
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
    ServiceError,
    Unauthorized,
    Unavailable,
)
from mnemosyne.http.auth import pages
from mnemosyne.http.auth.rate_limits import EndpointLimit
from mnemosyne.http.common import body as bodies
from mnemosyne.http.common.hosts import host_of, without_https_port
from mnemosyne.http.common.rate_limit import NetworkBudgets, client_address
from mnemosyne.observability import EventLog, bug, fault_fields, trace

log = EventLog(__name__)

FORM = "application/x-www-form-urlencoded"
BODY_BYTES = 64 * 1024
QUERY_LENGTH = 16_000
_SECRET = re.compile("[A-Za-z0-9_-]{43}")
"""Pattern of the secrets that `new_secret` returns."""
THREADS = 5
PROVIDER_THREADS = 3
"""Number of threads for requests that may wait for the identity provider. With separate threads, a slow provider does
not block other requests, which run in THREADS threads. Each thread may use one database connection."""

_LIMITERS: RunVar[dict[bool, anyio.CapacityLimiter]] = RunVar("limiters")


@dataclass(frozen=True)
class Call:
    """A parsed request."""

    query: list[tuple[str, str]]
    form: list[tuple[str, str]]
    body: bytes
    address: str
    origin: str | None
    authorization: str
    cookie: str
    """Cookie of the authorization request; empty if the browser did not send it."""
    limit: EndpointLimit

    @property
    def id(self) -> str:
        """Id of the authorization request. An identity provider sends it back in the parameter `state`.

        Empty if the parameter does not have the form of an id of this server. Any other text must not be used, because
        the id becomes a part of a cookie's name.
        """
        id_ = self.parameter("request") or self.parameter("state")
        return id_ if _SECRET.fullmatch(id_) else ""

    def parameter(self, name: str) -> str:
        """First value of a parameter in the form or the query; empty if it is missing."""
        return next((value for key, value in [*self.form, *self.query] if key == name), "")


Handler: TypeAlias = Callable[[Call], Response | Awaitable[Response]]


@dataclass(frozen=True)
class Gateway:
    """Wraps the handlers of endpoints.

    It reads requests, enforces rate limits, sets cookies and converts errors to responses.
    """

    issuer: str
    proxies: int | None
    _budgets: dict[str, NetworkBudgets] = field(default_factory=dict)

    @property
    def secure(self) -> bool:
        """Whether browsers connect with TLS."""
        return self.issuer.startswith("https:")

    def cookie_name(self, id_: str) -> str:
        """Name of the cookie of an authorization request.

        The name contains the id, so that two log-ins in one browser have different cookies.

        The prefix `__Host-` prevents other hosts and pages without TLS from setting the cookie (RFC 6265bis).
        """
        name = f"mnemosyne-auth-{id_[:16]}"
        return f"__Host-{name}" if self.secure else name

    def set_cookie(self, response: Response, id_: str, cookie: str) -> None:
        """Set the cookie of an authorization request.

        SameSite is Lax, so that the browser also sends the cookie when the identity provider redirects it back.
        """
        response.set_cookie(
            self.cookie_name(id_), cookie, max_age=REQUEST_SECONDS, secure=self.secure, httponly=True, samesite="lax"
        )

    def delete_cookie(self, response: Response, id_: str) -> None:
        """Delete the cookie of an authorization request."""
        response.delete_cookie(self.cookie_name(id_), secure=self.secure, httponly=True, samesite="lax")

    def endpoint(
        self, handle: Handler, limit: EndpointLimit, *, as_page: bool
    ) -> Callable[[Request], Awaitable[Response]]:
        """Wrap a handler: enforce its rate limit, and convert its errors to responses.

        Errors become an HTML page for people (`as_page`) or JSON for clients. A handler that is a coroutine function
        runs on the event loop, and any other handler runs in a thread.
        """

        async def in_thread(call: Call) -> Response:
            return await self.in_thread(call, partial(cast("Callable[[Call], Response]", handle), call))

        is_async = inspect.iscoroutinefunction(handle)
        work = cast("Callable[[Call], Awaitable[Response]]", handle) if is_async else in_thread

        async def answer(request: Request) -> Response:
            with trace(request.headers):
                try:
                    self.spend(client_address(request.scope, request.headers, self.proxies), limit)
                    call = await self._read(request, limit)
                    response = await work(call)
                except MnemosyneError as exc:
                    response = self._error_response(exc, as_page=as_page)
                except Exception:
                    log.exception("auth_crashed", path=request.url.path)
                    response = self._error_response(
                        Misconfigured("internal error: the server's log has the reason"), as_page=as_page
                    )
            for name, value in pages.security_headers(secure=self.secure).items():
                response.headers.setdefault(name, value)
            return response

        answer.limit = limit  # type: ignore[attr-defined]
        return answer

    def public_endpoint(
        self, handle: Callable[[Request], Awaitable[Response]], limit: EndpointLimit
    ) -> Callable[[Request], Awaitable[Response]]:
        """Wrap a handler whose response is the same for all callers. Only its rate limit is enforced.

        The response gets no security headers, so that it can be cached.
        """

        async def answer(request: Request) -> Response:
            try:
                self.spend(client_address(request.scope, request.headers, self.proxies), limit)
            except OverBudget as exc:
                return self._error_response(exc, as_page=False)
            return await handle(request)

        answer.limit = limit  # type: ignore[attr-defined]
        return answer

    def spend(self, address: str, limit: EndpointLimit) -> None:
        """Count a request against the rate limit of the network to which the address belongs.

        Raises OverBudget if the requests of this network exceed the rate limit.
        """
        budgets = self._budgets.setdefault(limit.name, NetworkBudgets(limit.per_minute))
        if seconds := budgets.spend(address):
            raise OverBudget(f"too many requests came from the network of {address}: try again in {seconds} s", seconds)

    async def in_thread(self, call: Call, work: Callable[[], Response]) -> Response:
        """Run `work` in a thread. Work that may wait for the identity provider has a separate pool of threads."""
        limiters = _LIMITERS.get(None)
        if limiters is None:
            limiters = {True: anyio.CapacityLimiter(PROVIDER_THREADS), False: anyio.CapacityLimiter(THREADS)}
            _LIMITERS.set(limiters)
        return await anyio.to_thread.run_sync(work, limiter=limiters[call.limit.asks_provider])

    async def _read(self, request: Request, limit: EndpointLimit) -> Call:
        if host_of(request.headers) != without_https_port(self.issuer.partition("://")[2].partition("/")[0]):
            raise InvalidRequest(f"Host must be the host of {self.issuer}")
        if (coding := request.headers.get("content-encoding", "").lower()) not in ("", "identity"):
            raise InvalidRequest(f"Content-Encoding must be left out: send the body uncompressed, got {coding[:100]!r}")
        try:
            with anyio.fail_after(bodies.BODY_SECONDS):
                body = await bodies.read(request.receive, BODY_BYTES)
        except TimeoutError as exc:
            raise InvalidRequest(f"the request did not arrive within {bodies.BODY_SECONDS} s") from exc
        query = request.url.query
        if body is None or len(query) > QUERY_LENGTH:
            raise InvalidRequest(f"a body may have at most {BODY_BYTES:,} bytes, and a query {QUERY_LENGTH:,}")
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        form = body if media_type == FORM else b""
        call = Call(
            query=_parse_pairs(query),
            form=_parse_pairs(form.decode("utf-8", "replace")),
            body=body,
            address=client_address(request.scope, request.headers, self.proxies),
            origin=request.headers.get("origin"),
            authorization=request.headers.get("authorization", ""),
            cookie="",
            limit=limit,
        )
        cookie = request.cookies.get(self.cookie_name(call.id), "")
        return replace(call, cookie=cookie) if _SECRET.fullmatch(cookie) else call

    def _error_response(self, exc: MnemosyneError, *, as_page: bool) -> Response:
        status, error = _status_and_error(exc)
        message = str(exc) if status < 500 else "the server cannot do this at the moment: try again later"
        headers = {"Retry-After": str(getattr(exc, "seconds", 5))} if status in (429, 503) else None
        if status >= 500:
            about = fault_fields(exc) if isinstance(exc, ServiceError) else bug(exc)
            log.error("auth_unavailable", **about)
        if as_page:
            page = pages.message(self.issuer, "This did not work", message, status)
            page.headers.update(headers or {})
            return page
        return JSONResponse({"error": error, "error_description": message}, status, headers)


def redirect(url: str) -> Response:
    """Redirect the browser, which then sends GET."""
    return RedirectResponse(url, 303)


def new_secret() -> str:
    """Return 256 random bits."""
    return secrets.token_urlsafe(32)


def _status_and_error(exc: MnemosyneError) -> tuple[int, str]:
    if isinstance(exc, OverBudget):
        return 429, "slow_down"
    if isinstance(exc, Unauthorized):
        return 403, "access_denied"
    if isinstance(exc, NotFound | Conflict):
        return 409, "invalid_request"
    if isinstance(exc, Unavailable | Misconfigured):
        return 503, "temporarily_unavailable"
    return 400, "invalid_request"


def _parse_pairs(encoded: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(encoded, keep_blank_values=True, max_num_fields=50)
    except ValueError as exc:
        raise InvalidRequest("a request may have at most 50 parameters") from exc
