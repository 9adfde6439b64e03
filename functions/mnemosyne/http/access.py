"""Who is let in: authentication, scopes and rate limits, in front of both protocol eras alike.

Answers as MCP's authorization chapter asks: 401 and 403 with `WWW-Authenticate`, and RFC 9728 metadata.
"""

import ipaddress
import math
import threading
import time
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread
import mcp_types
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope as AsgiScope

from mnemosyne.domain.principal import LOCAL, Bucket, Principal, Scope
from mnemosyne.errors import Unauthorized, Unavailable
from mnemosyne.mcp.tools import required_scope
from mnemosyne.observability import EventLog
from mnemosyne.service.authenticate import SERVERLESS_AUTHORIZATION, Anyone, Authenticator

log = EventLog(__name__)

METADATA_PATH = "/.well-known/oauth-protected-resource"
LOOKUPS = 8
PRINCIPALS_REMEMBERED = 10_000
OFFERED = f"{Scope.READ} {Scope.WRITE}"


class Access:
    """Admits principals and holds them to their scopes and rate.

    Rates are counted by each instance for itself, so that accepting a memory needs no database: a principal gets at
    most the limit times the number of instances.
    """

    def __init__(
        self, authenticator: Authenticator, *, per_minute: int, issuer: str, allowed_hosts: tuple[str, ...]
    ) -> None:
        self._authenticator = authenticator
        self._per_minute = per_minute
        self._issuer = issuer
        self._allowed_hosts = allowed_hosts
        self._buckets: dict[str, Bucket] = {}
        self._lock = threading.Lock()
        self._lookups = anyio.CapacityLimiter(LOOKUPS)

    async def admit(self, scope: AsgiScope, headers: Headers) -> Principal | Response:
        """Who calls, or the answer to somebody who is not let in."""
        if isinstance(self._authenticator, Anyone):
            return LOCAL if _on_loopback(scope) else _refusal(403, "AUTH_MODE=none serves this machine only")
        try:
            # With Identity-Aware Proxy in front, X-Serverless-Authorization is the proxy's own, and nothing to us.
            replaced = self._authenticator.only_authorization and SERVERLESS_AUTHORIZATION in headers
            if len(headers.getlist("authorization")) > 1 or replaced:
                raise Unauthorized("one credential is needed, as Authorization")
            return await anyio.to_thread.run_sync(
                self._authenticator.authenticate, headers.get("authorization"), limiter=self._lookups
            )
        except Unauthorized as exc:
            log.warning("audit", action="authenticate", outcome="refused", reason=str(exc))
            error = ', error="invalid_token"' if "authorization" in headers else ""
            return _refusal(401, str(exc), **{"WWW-Authenticate": self._challenge(scope, headers) + error})
        except Unavailable as exc:
            log.warning("authentication_unavailable", error=str(exc))
            return _refusal(503, "who you are cannot be checked at the moment: try again", **{"Retry-After": "5"})
        except Exception:  # the edge: a fault of our own lets nobody in, and is told without its inside
            log.exception("authentication_crashed")
            return _refusal(503, "who you are cannot be checked: the server's operator finds why in its log")

    def restrict(self, scope: AsgiScope, headers: Headers, principal: Principal, posted: Any) -> Response | None:
        """The answer to a principal that may not do this, or not yet; None where it may."""
        calls = posted if isinstance(posted, list) else [posted]
        for call in calls:
            wanted = _wanted(call)
            if wanted is not None and not principal.may(wanted):
                log.warning(
                    "audit",
                    action=call["params"]["name"],
                    principal=principal.id,
                    namespace=principal.namespace,
                    outcome="refused",
                    reason=f"scope {wanted}",
                )
                challenge = f'{self._challenge(scope, headers, wanted)}, error="insufficient_scope"'
                return _refusal(403, f"this needs the scope {wanted}", **{"WWW-Authenticate": challenge})
        return self.limit(principal, len(calls))

    def metadata(self, request: Request) -> Response:
        """Which authorization server gives tokens for this resource: RFC 9728."""
        if not self._issuer or not self.serves(request.headers.get("host", "")):
            return JSONResponse({"error": "not found"}, status_code=404)
        return JSONResponse(
            {
                "resource": f"{_origin(request.scope, request.headers)}/mcp",
                "authorization_servers": [self._issuer],
                "scopes_supported": [Scope.READ, Scope.WRITE],
                "bearer_methods_supported": ["header"],
                "resource_name": "Mnemosyne",
            }
        )

    def limit(self, principal: Principal, count: int = 1) -> Response | None:
        """The answer to a principal that asks too often; None where it does not."""
        if not self._per_minute or principal is LOCAL:
            return None
        now = time.monotonic()
        with self._lock:
            if len(self._buckets) >= PRINCIPALS_REMEMBERED:
                self._buckets.clear()
            bucket = self._buckets.get(principal.id) or Bucket.full(self._per_minute, now)
            self._buckets[principal.id], early = bucket.take(now, min(count, self._per_minute))
        if not early:
            return None
        log.warning("audit", action="call", principal=principal.id, outcome="refused", reason="rate")
        message = f"at most {self._per_minute} requests a minute; try again in {math.ceil(early)} s"
        return _refusal(429, message, **{"Retry-After": str(math.ceil(early))})

    def _challenge(self, scope: AsgiScope, headers: Headers, wanted: str = OFFERED) -> str:
        challenge = f'Bearer scope="{wanted}"'
        if self._issuer and self.serves(headers.get("host", "")):
            challenge += f', resource_metadata="{_origin(scope, headers)}{METADATA_PATH}/mcp"'
        return challenge

    def serves(self, host: str) -> bool:
        """Whether that Host header is one of ours."""
        name = host.rsplit(":", 1)[0]
        return host in self._allowed_hosts or f"{name}:*" in self._allowed_hosts


def _wanted(call: Any) -> Scope | None:
    """The scope that a tool call needs; every other method is free to whoever was let in."""
    if not isinstance(call, Mapping) or call.get("method") != "tools/call":
        return None
    params = call.get("params")
    name = params.get("name") if isinstance(params, Mapping) else None
    return required_scope(name) if isinstance(name, str) else None


def _on_loopback(scope: AsgiScope) -> bool:
    address = (scope.get("server") or ("", 0))[0]
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:  # a socket file, or a test
        return True


def _origin(scope: AsgiScope, headers: Mapping[str, str]) -> str:
    """The address that the client sees: TLS ends in front of us."""
    return f"{headers.get('x-forwarded-proto', scope.get('scheme', 'http')).split(',')[0]}://{headers.get('host', '')}"


def _refusal(status: int, message: str, **headers: str) -> Response:
    error = {"code": mcp_types.INVALID_REQUEST, "message": message}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=status, headers=headers)
