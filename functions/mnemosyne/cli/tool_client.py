"""Call a server's tools over HTTP, as any client does."""

import json
import os
import re
import ssl
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from mnemosyne.domain.text_checks import surrogate_problem
from mnemosyne.errors import (
    Broken,
    Conflict,
    InvalidRequest,
    Misconfigured,
    MnemosyneError,
    NotFound,
    OverQuota,
    Unauthorized,
    Unavailable,
    UncertainCommit,
)

CONNECT_SECONDS = 10.0
"""Maximum seconds to connect to a server, including TLS. A server without TLS may leave a TLS handshake unanswered."""
PATIENCE_SECONDS = 60.0
"""Maximum Retry-After in seconds for which the client waits."""
_HEADER = re.compile(r"^(authorization:\s*)?bearer\s+", re.IGNORECASE)
ERROR_META = "mnemosyne/error"
"""Key of a tool error's code in `_meta`: docs/reference/errors.md."""
ERRORS: Mapping[str, type[MnemosyneError]] = {
    "conflict": Conflict,
    "misconfigured": Misconfigured,
    "not_found": NotFound,
    "operator_needed": Broken,
    "over_quota": OverQuota,
    "unauthorized": Unauthorized,
    "unavailable": Unavailable,
    "uncertain": UncertainCommit,
}
"""Exception for each code. An error with another code becomes Unavailable if it is retryable, and otherwise
InvalidRequest."""


class ToolClient:
    """Calls a server's tools by stateless POST requests. The bearer token comes from MNEMOSYNE_TOKEN."""

    def __init__(self, url: str) -> None:
        self.token = _token()
        self.url = url
        # For an http URL, do not load the certificates of public authorities, because loading them takes 35 ms.
        self._client = httpx2.Client(
            timeout=httpx2.Timeout(60, connect=CONNECT_SECONDS),
            headers={"Authorization": f"Bearer {self.token}"} if self.token else {},
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if url.lower().startswith("http:") else True,
            # Call servers on this machine directly, because a proxy in the environment variables cannot reach them.
            mounts={f"all://{host}": None for host in ("127.0.0.1", "[::1]", "localhost")},
        )

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool and return its structured result.

        If the tool reports an error, raises the exception for the error's code, such as Unavailable if the call may
        succeed later.
        """
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        try:
            response = self._client.post(self.url, json=body)
            while response.status_code == httpx2.codes.TOO_MANY_REQUESTS:
                time.sleep(_seconds(response.headers.get("retry-after", "")))
                response = self._client.post(self.url, json=body)
        except UnicodeEncodeError as exc:  # an argument of the command has undecodable bytes
            invalid = (
                name for name, value in arguments.items() if surrogate_problem(json.dumps(value, ensure_ascii=False))
            )
            byte = ord(exc.object[exc.start]) & 0xFF  # os.fsdecode has converted the byte to U+DC80 … U+DCFF
            raise InvalidRequest(
                f"{next(invalid, 'arguments')} must be text in UTF-8, found the byte 0x{byte:02x}: "
                "set the terminal and its locale to UTF-8"
            ) from exc
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as exc:
            fix = "name a running server with --url or a directory with --data-dir, or start `mnemosyne dev`"
            raise Unavailable(f"{self.url} cannot be reached: {exc}; {fix}") from exc
        answer = _json_object(response)
        result = answer.get("result")
        if isinstance(result, dict) and result.get("isError"):
            raise _tool_error(tool, result)
        if isinstance(result, dict):
            structured_content: dict[str, Any] | None = result.get("structuredContent")
            if structured_content is None:
                raise InvalidRequest(f"{self.url} is another MCP server: its {tool} returns only text; change --url")
            return structured_content
        error = answer.get("error", answer)
        message = error.get("message", error)
        if response.status_code in (401, 403):
            fix = "give a key with the scopes read and write in MNEMOSYNE_TOKEN: `mnemosyne keys create` makes one"
            raise Unauthorized(f"{tool}: {message}; {fix}")
        if response.is_server_error:
            raise Unavailable(f"{tool}: {message}")
        raise InvalidRequest(f"{tool}: {message}")


def _seconds(retry_after: str) -> float:
    """Return the seconds to wait before the next attempt, from 1 to PATIENCE_SECONDS.

    `retry_after` is the Retry-After header (RFC 9110, 10.2.3): a number of seconds or a date. If it is neither, the
    result is 1.
    """
    try:
        if retry_after.strip().isdecimal():
            seconds = float(retry_after)
        else:  # a proxy in front of the server may send a date
            seconds = parsedate_to_datetime(retry_after).timestamp() - time.time()
    except ValueError:
        seconds = 1
    return min(max(seconds, 1), PATIENCE_SECONDS)


def _token() -> str:
    """Return the bearer token in MNEMOSYNE_TOKEN. Raises Misconfigured if a header cannot contain the token.

    The variable may contain a whole header, as `mnemosyne keys create` shows it. A carriage return at the end is
    removed, because files from Windows end lines with a carriage return and a line feed.
    """
    token = _HEADER.sub("", os.environ.get("MNEMOSYNE_TOKEN", "").strip())
    if not (token.isascii() and token.isprintable()):
        raise Misconfigured(
            "MNEMOSYNE_TOKEN must be a whole key in ASCII characters, not a placeholder such as mnk_…: "
            "`mnemosyne keys create` makes a key"
        )
    return token


def _tool_error(tool: str, result: dict[str, Any]) -> MnemosyneError:
    """Return the exception that corresponds to the code of a tool's error."""
    error = (result.get("_meta") or {}).get(ERROR_META) or {}
    otherwise = Unavailable if error.get("retryable") else InvalidRequest
    kind = ERRORS.get(error.get("code", ""), otherwise)
    return kind(f"{tool}: {result['content'][0]['text']}")


def _json_object(response: httpx2.Response) -> dict[str, Any]:
    """Return the JSON object in the response.

    Raises Unauthorized or Unavailable if the response is not a JSON object, because it is not from an MCP server.
    """
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if isinstance(answer, dict):
        return answer
    problem = f"{response.request.url} answered {response.status_code} {response.reason_phrase} and no JSON"
    if response.status_code in (401, 403):  # a proxy refused the request, such as Cloud Run if auth_mode is iam
        raise Unauthorized(f"{problem}; give a credential that the proxy before the server accepts in MNEMOSYNE_TOKEN")
    if response.has_redirect_location:
        raise Unavailable(f"{problem}; it redirects to {response.headers['location']}: give this address with --url")
    fix = "try again" if response.is_server_error else "it is not an MCP endpoint, whose path is /mcp: change --url"
    raise Unavailable(f"{problem}; {fix}")
