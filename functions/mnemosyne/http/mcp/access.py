"""Authentication, scopes and rate limits of the MCP endpoint.

As the authorization chapter of MCP requires, 401 and 403 have `WWW-Authenticate`, and the server has RFC 9728 metadata.
"""

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
from mnemosyne.domain.audit import logged_caller
from mnemosyne.domain.principal import LOCAL, Principal, Scope, hash_secret
from mnemosyne.errors import EndedToken, OverBudget, ServiceError, Unauthorized
from mnemosyne.http.common.errors import error_response
from mnemosyne.http.common.hosts import is_loopback, origin_of, without_https_port
from mnemosyne.http.common.rate_limit import Budgets, NetworkBudgets, client_address
from mnemosyne.http.mcp.concurrency import ConcurrencyLimits
from mnemosyne.mcp.tool import Tool
from mnemosyne.mcp.tools import find
from mnemosyne.mcp.tools.read import get_memory
from mnemosyne.observability import EventLog
from mnemosyne.service.api_keys import key_id
from mnemosyne.service.authenticate import SERVERLESS_AUTHORIZATION, Authenticator, NoAuthenticator

log = EventLog(__name__)

MCP_PATH = "/mcp"
METADATA_PATH = "/.well-known/oauth-protected-resource"
LOOKUPS = 8
"""Maximum number of credentials that are verified at a time, by the database or an identity provider."""
LOOKUPS_PER_NETWORK = 2
"""Maximum number of credentials from one IPv4 address or IPv6 /64 that are verified at a time."""
VALID_CREDENTIALS = 10_000
VALID_SECONDS = 3600.0
"""Seconds for which a credential counts as recently valid after a successful check. During this time, the limit on
rejected credentials does not apply to this credential."""
REJECTED_PER_MINUTE = 30
"""Maximum number of rejected credentials per minute from one network. Further unknown credentials get 429."""
CHALLENGE_SCOPES = f"{Scope.READ} {Scope.WRITE}"


class Access:
    """Authenticates callers and enforces their scopes and rate limits.

    `proxies` is the number of addresses that the platform's proxies append to X-Forwarded-For after the caller's
    address. None means that there is no proxy, so the peer is the caller.
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
        self._allowed_hosts = [host.lower() for host in allowed_hosts]
        self._proxies = proxies
        self.budgets = Budgets(per_minute)
        self.concurrency = ConcurrencyLimits()
        self._rejected = NetworkBudgets(REJECTED_PER_MINUTE)
        self._valid: TTLCache[bytes, None] = TTLCache(VALID_CREDENTIALS, VALID_SECONDS)
        self._lookups = anyio.CapacityLimiter(LOOKUPS)
        self._network_lookups: WeakValueDictionary[str, anyio.CapacityLimiter] = WeakValueDictionary()

    async def authenticate(self, scope: AsgiScope, headers: Headers) -> Principal | Response:
        """Return the principal of the request, or the error response if authentication fails."""
        if isinstance(self._authenticator, NoAuthenticator):
            own, _ = scope.get("server") or ("", 0)
            return LOCAL if is_loopback(own) else error_response(403, "AUTH_MODE=none serves this machine only")
        address = client_address(scope, headers, self._proxies)
        try:
            return self._cached_principal(headers) or await self._look_up(headers, address)
        except Unauthorized as exc:
            # EndedToken means that the token was valid earlier. Such a token is not a guess, so it does not count
            # towards the limit on rejected credentials.
            credential = None if isinstance(exc, EndedToken) else headers.get("authorization")
            if credential and (seconds := self._rejected.spend(address)) and hash_secret(credential) not in self._valid:
                return _reject_guess(headers, address, seconds)
            _log_rejected(headers, address, str(exc))
            error = ', error="invalid_token"' if "authorization" in headers else ""
            return error_response(401, str(exc), headers={"WWW-Authenticate": self._challenge(scope, headers) + error})
        except OverBudget as exc:
            return _reject_guess(headers, address, exc.seconds)
        except ServiceError as exc:
            log.fault("authentication_unavailable", exc)
            message = "your credential cannot be verified at the moment: try again"
            return error_response(503, message, headers={"Retry-After": "5"})
        except Exception:  # a bug in this server: do not admit the caller, and do not show the traceback
            log.exception("authentication_crashed")
            return error_response(503, "your credential cannot be verified: the server's log has the reason")

    def _cached_principal(self, headers: Headers) -> Principal | None:
        # Reject X-Serverless-Authorization only if Cloud Run would check it instead of Authorization. Otherwise ignore
        # it, because Identity-Aware Proxy sets it.
        is_replaced = self._authenticator.only_authorization and SERVERLESS_AUTHORIZATION in headers
        if len(headers.getlist("authorization")) > 1 or is_replaced:
            raise Unauthorized("send exactly one credential, in the header Authorization")
        return self._authenticator.cached_principal(headers.get("authorization"))

    async def _look_up(self, headers: Headers, address: str) -> Principal:
        authorization = headers.get("authorization")
        credential_hash = hash_secret(authorization or "")
        # Never refuse a recently valid credential, so that one user's guesses lock out no other user at this address.
        if credential_hash not in self._valid and (seconds := self._rejected.retry_after(address)):
            raise OverBudget("too many wrong credentials", seconds)
        network, _ = rate_limit.networks_of(address)
        limiter = self._network_lookups.setdefault(network, anyio.CapacityLimiter(LOOKUPS_PER_NETWORK))
        async with limiter:
            principal = await anyio.to_thread.run_sync(
                self._authenticator.authenticate, authorization, limiter=self._lookups
            )
        self._valid[credential_hash] = None
        return principal

    def restrict(
        self,
        scope: AsgiScope,
        headers: Headers,
        principal: Principal,
        payload: Any,
        paid: float = 0,
        id_: str | int | None = None,
    ) -> Response | None:
        """Charge the tool calls of a request. Return 403 if a scope is missing, 429 above the rate limit, else None.

        `paid` is the cost that was already charged for this request.
        """
        calls = payload if isinstance(payload, list) else [payload]
        for call in calls:
            tool = _called_tool(call)
            required = tool.scope if tool else None
            if not principal.scopes or (tool is not None and not tool.is_allowed(principal)):
                reason = f"scope {required or 'none held'}"
                log.warning(
                    "audit", action=_called_tool_name(call) or "request", **_refusal_fields(principal), reason=reason
                )
                # The challenge also names the scopes that the caller has, because clients request only the scopes of
                # the challenge.
                scopes = {*principal.scopes, required} if principal.scopes and required else CHALLENGE_SCOPES.split()
                challenge = f'{self._challenge(scope, headers, " ".join(sorted(scopes)))}, error="insufficient_scope"'
                every = f"one of the scopes {CHALLENGE_SCOPES.replace(' ', ', ')}"
                needed = f"the scope {required}" if required else every
                return error_response(403, f"this needs {needed}", id_=id_, headers={"WWW-Authenticate": challenge})
        return self.spend(principal, rate_limit.REQUEST * (len(calls) - 1) + sum(map(_units_of_call, calls)), paid, id_)

    async def metadata(self, request: Request) -> Response:
        """Return the protected resource metadata of RFC 9728, which names the authorization server."""
        if not self.issuer:
            return await self.no_log_in(request)
        if not self.serves(request.headers.get("host", "")):
            problem = "Host must be a name that this server serves, which its operator lists in MNEMOSYNE_ALLOWED_HOSTS"
            return JSONResponse({"error": "invalid_request", "error_description": problem}, status_code=404)
        return JSONResponse(
            {
                "resource": origin_of(request.scope, request.headers) + resource_path(request.scope),
                "authorization_servers": [self.issuer],
                "scopes_supported": [Scope.READ, Scope.WRITE],
                "bearer_methods_supported": ["header"],
                "resource_name": "Mnemosyne",
            }
        )

    async def no_log_in(self, request: Request) -> Response:
        """Return an OAuth error that says that this server issues no tokens, and which credential it requires."""
        needs = f"this server issues no tokens and registers no clients: it requires {self._authenticator.credential}"
        where = f"; its issuer is {self.issuer}" if self.issuer else ""
        return JSONResponse({"error": "invalid_request", "error_description": needs + where}, status_code=404)

    def is_limited(self, principal: Principal) -> bool:
        """Whether rate limits apply to the principal. They do not apply to the only user of a local server."""
        return principal is not LOCAL and self.budgets.per_minute > 0

    def spend(
        self, principal: Principal, units: float, paid: float = 0, id_: str | int | None = None
    ) -> Response | None:
        """Charge units to the principal's budget (its rate limit). Returns 429 if it is used up, otherwise None.

        `paid` is the cost that was already charged for this request.
        """
        is_free = units <= 0 or not self.is_limited(principal)
        if is_free or not (seconds := self.budgets.spend(principal.id, units, paid)):
            return None
        log.warning("audit", action="call", **_refusal_fields(principal), reason="rate", units=units)
        limit = self.budgets.per_minute
        message = f"the budget of {limit} units a minute is used up, this takes {units:.4g}; try again in {seconds} s"
        return error_response(429, message, id_=id_, headers={"Retry-After": str(seconds)})

    def reject_concurrent(self, principal: Principal) -> Response:
        """Return 429 for a principal with too many concurrent requests."""
        log.warning("audit", action="call", **_refusal_fields(principal), reason="concurrency")
        message = (
            f"at most {self.concurrency.at_once} requests run at a time and {self.concurrency.waiting} wait; "
            "try again after one of them has finished"
        )
        return error_response(429, message, headers={"Retry-After": "1"})

    def reject_busy(self, principal: Principal, wait: float, id_: str | int | None = None) -> Response:
        """Return 429 for a call that would wait `wait` seconds for the database."""
        log.warning("audit", action="call", **_refusal_fields(principal), reason="database", wait_s=wait)
        seconds = math.ceil(wait)
        message = f"the database is busy for the next {seconds} s; nothing was done, try again then"
        return error_response(429, message, id_=id_, headers={"Retry-After": str(seconds)})

    def origin(self, scope: AsgiScope, headers: Headers) -> str:
        """Return the origin that the request was sent to; empty if this server does not serve the host."""
        return origin_of(scope, headers) if self.serves(headers.get("host", "")) else ""

    def _challenge(self, scope: AsgiScope, headers: Headers, scopes: str = CHALLENGE_SCOPES) -> str:
        challenge = f'Bearer scope="{scopes}"'
        if self.issuer and (origin := self.origin(scope, headers)):
            challenge += f', resource_metadata="{origin}{METADATA_PATH}{resource_path(scope)}"'
        return challenge

    def serves(self, host: str) -> bool:
        """Whether the server serves this Host header; `*` allows any."""
        host = host.lower()
        name, _, port = host.rpartition(":")
        any_port = f"{name}:*" if port.isascii() and port.isdigit() else host
        return not {host, without_https_port(host), any_port, "*"}.isdisjoint(self._allowed_hosts)


def resource_path(scope: AsgiScope) -> str:
    """Return the path of the endpoint, with a slash at its end if the path of the request ends with `/mcp/`.

    The resource in the metadata must be identical to the URL that the client calls (RFC 9728, section 3.3). VS Code
    compares them exactly.
    """
    path: str = scope["path"]
    return f"{MCP_PATH}/" if path.endswith("/") and path.rstrip("/").endswith(MCP_PATH) else MCP_PATH


def _reject_guess(headers: Headers, address: str, seconds: int) -> Response:
    _log_rejected(headers, address, "rate")
    message = f"too many wrong credentials came from {address}: try again in {seconds} s"
    return error_response(429, message, headers={"Retry-After": str(seconds)})


def _log_rejected(headers: Headers, address: str, reason: str) -> None:
    key = key_id(headers.get("authorization"))
    log.warning("audit", action="authenticate", outcome="refused", reason=reason, address=address, key=key)


def _refusal_fields(principal: Principal) -> dict[str, object]:
    """Return the fields of the log event `audit` for a refused call: caller, namespace and id of the API key."""
    kind, _, credential = principal.credential.partition(":")
    key = {"key": credential} if kind == "key" else {}
    return {**logged_caller(principal), **key, "namespace": principal.namespace, "outcome": "refused"}


def _called_tool_name(call: Any) -> str | None:
    """Return the name of the called tool.

    `resources/read` reads a memory, so it counts as `get_memory`. The result is None for other methods.
    """
    if not isinstance(call, Mapping):
        return None
    if call.get("method") == "resources/read":
        return get_memory.name
    params = call.get("params") if call.get("method") == "tools/call" else None
    name = params.get("name") if isinstance(params, Mapping) else None
    return name if isinstance(name, str) else None


def _called_tool(call: Any) -> Tool[Any] | None:
    """Return the called tool; None for other methods and unknown tools."""
    name = _called_tool_name(call)
    return None if name is None else find(name)


def needs_database(payload: Any) -> bool:
    """Whether any request of the body needs the database."""
    calls = payload if isinstance(payload, list) else [payload]
    if any(isinstance(call, Mapping) and call.get("method") == "resources/list" for call in calls):
        return True
    return any(tool.needs_database for call in calls if (tool := _called_tool(call)))


def _units_of_call(call: Any) -> float:
    """Return the cost of a tool call, which is charged in addition to the cost of the request."""
    tool = _called_tool(call)
    if tool is None or call["method"] != "tools/call":
        return 0.0
    arguments = call["params"].get("arguments")
    return tool.units_of(arguments if isinstance(arguments, Mapping) else {})
