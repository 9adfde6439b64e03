"""Who is let in: authentication, scopes and rate limits, in front of both protocol eras alike.

Answers as MCP's authorization chapter asks: 401 and 403 with `WWW-Authenticate`, and RFC 9728 metadata.
"""

import hashlib
import ipaddress
import math
from collections.abc import Mapping
from typing import Any
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
from cachetools import TTLCache
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope as AsgiScope

from mnemosyne.domain import rate_limit
from mnemosyne.domain.principal import LOCAL, Principal, Scope
from mnemosyne.errors import OverBudget, ServiceError, Unauthorized
from mnemosyne.http.common.client_address import client_address
from mnemosyne.http.common.errors import refusal
from mnemosyne.http.common.rate_limit import Budgets, NetworkBudgets
from mnemosyne.http.mcp.concurrency import Places
from mnemosyne.mcp import tools
from mnemosyne.mcp.tools.read import GET_MEMORY
from mnemosyne.observability import EventLog
from mnemosyne.service.api_keys import key_id
from mnemosyne.service.authenticate import SERVERLESS_AUTHORIZATION, Authenticator, NoAuthenticator

log = EventLog(__name__)

METADATA_PATH = "/.well-known/oauth-protected-resource"
LOOKUPS = 8
LOOKUPS_OF_ADDRESS = 2
"""Credentials from one network, an IPv4 address or a /64, that are looked at by asking somebody, at a time."""
CREDENTIALS_REMEMBERED = 10_000
REMEMBERED_SECONDS = 3600.0
"""How long a credential that was good is told from a guess; it is verified all the same."""
REFUSALS_A_MINUTE = 30
"""Credentials from one network that may turn out wrong; after that only those that are known are looked at."""
OFFERED = f"{Scope.READ} {Scope.WRITE}"


class Access:
    """Authenticates principals and holds them to their scopes and budget.

    `proxies` is how many addresses stand behind the caller's in X-Forwarded-For, each added by something of the
    platform's; None where nothing stands in front, and the peer is the caller.
    """

    def __init__(
        self,
        authenticator: Authenticator,
        *,
        per_minute: int,
        issuer: str,
        allowed_hosts: tuple[str, ...],
        proxies: int | None = None,
    ) -> None:
        self._authenticator = authenticator
        self.issuer = issuer
        self._allowed_hosts = allowed_hosts
        self._proxies = proxies
        self.budgets = Budgets(per_minute)
        self.places = Places()
        self._refused = NetworkBudgets(REFUSALS_A_MINUTE)
        self._good: TTLCache[bytes, None] = TTLCache(CREDENTIALS_REMEMBERED, REMEMBERED_SECONDS)
        self._lookups = anyio.CapacityLimiter(LOOKUPS)
        self._lookups_of: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()

    async def authenticate(self, scope: AsgiScope, headers: Headers) -> Principal | Response:
        """Who calls, or the answer to somebody who is not let in."""
        if isinstance(self._authenticator, NoAuthenticator):
            return LOCAL if _on_loopback(scope) else refusal(403, "AUTH_MODE=none serves this machine only")
        address = client_address(scope, headers, self._proxies)
        try:
            return await self._authenticated(headers, address)
        except Unauthorized as exc:
            if "authorization" in headers:  # whoever shows none asks where to get one, and guesses nothing
                self._refused.take(address)
            key = key_id(headers.get("authorization"))
            log.warning("audit", action="authenticate", outcome="refused", reason=str(exc), address=address, key=key)
            error = ', error="invalid_token"' if "authorization" in headers else ""
            return refusal(401, str(exc), headers={"WWW-Authenticate": self._challenge(scope, headers) + error})
        except OverBudget as exc:
            log.warning("audit", action="authenticate", outcome="refused", reason="rate", address=address)
            return refusal(429, str(exc), headers={"Retry-After": str(exc.seconds)})
        except ServiceError as exc:
            log.fault("authentication_unavailable", exc)
            return refusal(503, "who you are cannot be checked at the moment: try again", headers={"Retry-After": "5"})
        except Exception:  # the edge: a fault of our own lets nobody in, and is told without its inside
            log.exception("authentication_crashed")
            return refusal(503, "who you are cannot be checked: the server's operator finds why in its log")

    async def _authenticated(self, headers: Headers, address: str) -> Principal:
        # With Identity-Aware Proxy in front, X-Serverless-Authorization is the proxy's own, and nothing to us.
        replaced = self._authenticator.only_authorization and SERVERLESS_AUTHORIZATION in headers
        if len(headers.getlist("authorization")) > 1 or replaced:
            raise Unauthorized("one credential is needed, as Authorization")
        authorization = headers.get("authorization")
        if (known := self._authenticator.known(authorization)) is not None:
            return known
        shown = hashlib.sha256((authorization or "").encode("utf-8", "surrogateescape")).digest()
        # What was good a while ago is looked at in any case: those who share an address do not lock each other out.
        if shown not in self._good and (seconds := self._refused.early(address)):
            raise OverBudget(f"too many wrong credentials came from {address}: try again in {seconds} s", seconds)
        network, _ = rate_limit.networks_of(address)
        limiter = self._lookups_of.setdefault(network, anyio.CapacityLimiter(LOOKUPS_OF_ADDRESS))
        async with limiter:
            principal = await anyio.to_thread.run_sync(
                self._authenticator.authenticate, authorization, limiter=self._lookups
            )
        self._good[shown] = None
        return principal

    def restrict(
        self,
        scope: AsgiScope,
        headers: Headers,
        principal: Principal,
        posted: Any,
        paid: float = 0,
        id_: str | int | None = None,
    ) -> Response | None:
        """Return the answer to a principal that may not do this, or not yet; None where it may, and has paid for it."""
        calls = posted if isinstance(posted, list) else [posted]
        for call in calls:
            wanted = _wanted(call)
            if not principal.scopes or (wanted is not None and not principal.may(wanted)):
                log.warning(
                    "audit",
                    action=_tool(call) or "request",
                    principal=principal.id,
                    namespace=principal.namespace,
                    outcome="refused",
                    reason=f"scope {wanted or 'none held'}",
                )
                # A client keeps no scope that the challenge does not name: those it holds stand in it too.
                asked = {*principal.scopes, wanted} if principal.scopes and wanted else OFFERED.split()
                challenge = f'{self._challenge(scope, headers, " ".join(sorted(asked)))}, error="insufficient_scope"'
                needed = f"the scope {wanted}" if wanted else f"one of the scopes {OFFERED.replace(' ', ', ')}"
                return refusal(403, f"this needs {needed}", id_=id_, headers={"WWW-Authenticate": challenge})
        return self.spend(principal, rate_limit.REQUEST * (len(calls) - 1) + sum(map(_units, calls)), paid, id_)

    async def metadata(self, request: Request) -> Response:
        """Which authorization server gives tokens for this resource: RFC 9728."""
        if not self.issuer or not self.serves(request.headers.get("host", "")):
            return await self.no_log_in(request)
        return JSONResponse(
            {
                "resource": f"{_origin(request.scope, request.headers)}/mcp",
                "authorization_servers": [self.issuer],
                "scopes_supported": [Scope.READ, Scope.WRITE],
                "bearer_methods_supported": ["header"],
                "resource_name": "Mnemosyne",
            }
        )

    async def no_log_in(self, request: Request) -> Response:
        """Tell a client that looks for an authorization server here what it needs instead: RFC 6749, section 5.2."""
        needs = f"this server gives no tokens and registers no clients: it wants {self._authenticator.credential}"
        where = f"; its issuer is {self.issuer}" if self.issuer else ""
        return JSONResponse({"error": "invalid_request", "error_description": needs + where}, status_code=404)

    def limits(self, principal: Principal) -> bool:
        """Whether others could suffer from it: whoever is alone on a machine is not held back."""
        return principal is not LOCAL and self.budgets.per_minute > 0

    def spend(
        self, principal: Principal, units: float, paid: float = 0, id_: str | int | None = None
    ) -> Response | None:
        """Return the answer to a principal whose budget is used up.

        None where it was not. `paid` is what this request has.
        """
        if units <= 0 or not self.limits(principal) or not (seconds := self.budgets.take(principal.id, units, paid)):
            return None
        log.warning("audit", action="call", principal=principal.id, outcome="refused", reason="rate", units=units)
        limit = self.budgets.per_minute
        message = f"the budget of {limit} units a minute is used up, this takes {units:.4g}; try again in {seconds} s"
        return refusal(429, message, id_=id_, headers={"Retry-After": str(seconds)})

    def crowded(self, principal: Principal) -> Response:
        """Return the answer to a principal that asks too much at a time."""
        log.warning("audit", action="call", principal=principal.id, outcome="refused", reason="concurrency")
        message = (
            f"at most {self.places.at_once} requests at a time, and {self.places.waiting} may wait; try again once one "
            "is answered"
        )
        return refusal(429, message, headers={"Retry-After": "1"})

    def overloaded(self, principal: Principal, wait: float, id_: str | int | None = None) -> Response:
        """Return the answer to a call that would wait so many seconds for the database."""
        log.warning("audit", action="call", principal=principal.id, outcome="refused", reason="database", wait_s=wait)
        seconds = math.ceil(wait)
        message = f"the database is busy for the next {seconds} s; nothing was done, try again then"
        return refusal(429, message, id_=id_, headers={"Retry-After": str(seconds)})

    def origin(self, scope: AsgiScope, headers: Headers) -> str:
        """Return the address that the request came to, without a path; empty where that is none of ours."""
        return _origin(scope, headers) if self.serves(headers.get("host", "")) else ""

    def _challenge(self, scope: AsgiScope, headers: Headers, wanted: str = OFFERED) -> str:
        challenge = f'Bearer scope="{wanted}"'
        if self.issuer and (origin := self.origin(scope, headers)):
            challenge += f', resource_metadata="{origin}{METADATA_PATH}/mcp"'
        return challenge

    def serves(self, host: str) -> bool:
        """Whether that Host header is one of ours; `*` allows any."""
        name, _, port = host.rpartition(":")
        any_port = port.isascii() and port.isdigit() and f"{name}:*" in self._allowed_hosts
        return host in self._allowed_hosts or any_port or "*" in self._allowed_hosts


def _wanted(call: Any) -> Scope | None:
    """Return the scope that a tool call needs; every other method is free to whoever was let in."""
    name = _tool(call)
    return tools.required_scope(name) if name is not None else None


def _tool(call: Any) -> str | None:
    """Return the name of the tool that is called, or that reads a resource; None where none does."""
    if not isinstance(call, Mapping):
        return None
    if call.get("method") == "resources/read":
        return GET_MEMORY.name
    params = call.get("params") if call.get("method") == "tools/call" else None
    name = params.get("name") if isinstance(params, Mapping) else None
    return name if isinstance(name, str) else None


def needs_database(posted: Any) -> bool:
    """Whether any of what was posted waits for the database."""
    calls = posted if isinstance(posted, list) else [posted]
    if any(isinstance(call, Mapping) and call.get("method") == "resources/list" for call in calls):
        return True
    return any(tools.needs_database(name) for call in calls if (name := _tool(call)) is not None)


def _units(call: Any) -> float:
    """Return what a call costs beside what every request does."""
    name = _tool(call)
    if name is None or call["method"] != "tools/call":
        return 0.0
    arguments = call["params"].get("arguments")
    return tools.units_of(name, arguments if isinstance(arguments, Mapping) else {})


def _on_loopback(scope: AsgiScope) -> bool:
    address = (scope.get("server") or ("", 0))[0]
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:  # a socket file, or a test
        return True


def _origin(scope: AsgiScope, headers: Mapping[str, str]) -> str:
    """Return the address that the client sees: TLS ends in front of us."""
    proto = headers.get("x-forwarded-proto", "").split(",")[0].strip()
    return f"{proto if proto in ('http', 'https') else scope.get('scheme', 'http')}://{headers.get('host', '')}"
