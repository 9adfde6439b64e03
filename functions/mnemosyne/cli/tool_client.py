"""Call a server's tools over HTTP, as any client does."""

import json
import os
import re
import ssl
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import httpx2

from mnemosyne import errors
from mnemosyne.cli.terminal import say
from mnemosyne.domain.text_checks import surrogate_problem

CONNECT_SECONDS = 10.0
"""Maximum seconds to connect to a server, including the TLS handshake. Without this limit, a command would wait long
for a server without TLS that does not answer the handshake."""
PATIENCE_SECONDS = 60.0
"""Maximum seconds to wait before a retry, even if the server asks for a longer wait in the header Retry-After."""
RATE_LIMIT_SECONDS = 2 * PATIENCE_SECONDS
"""Maximum seconds for which a call waits while the server answers 429."""
_CREATE_KEY = "`mnemosyne keys create --name NAME`, with the server's --data-dir or --project, creates one"
_HEADER = re.compile(r"^(authorization:\s*)?bearer\s+", re.IGNORECASE)
ERROR_META = "mnemosyne/error"
"""Key of the error code in the `_meta` of a tool's error. docs/reference/errors.md lists the codes."""
ERRORS: Mapping[str, type[errors.MnemosyneError]] = {
    "conflict": errors.Conflict,
    "misconfigured": errors.Misconfigured,
    "not_found": errors.NotFound,
    "operator_needed": errors.Broken,
    "over_quota": errors.OverQuota,
    "unauthorized": errors.Unauthorized,
    "unavailable": errors.Unavailable,
    "uncertain": errors.UncertainCommit,
}
"""For each code of an error, the exception to raise. An error with another code becomes Unavailable if it is retryable,
and otherwise InvalidRequest."""
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "get_memory": ("content_hash",),
    "ingest_memory": ("status", "request_id"),
    "ingest_status": ("requests",),
    "memory_search": ("memories",),
    "memories": ("id", "timestamp", "content", "tags"),
    "requests": ("request_id", "state", "attempts", "error"),
}
"""The fields that commands read from the answer of a tool, or from each object in a list in an answer. The client
checks that they exist, because another MCP server may have a tool of the same name with another answer."""


class ToolClient:
    """Calls a server's tools by stateless POST requests. The bearer token comes from MNEMOSYNE_TOKEN."""

    def __init__(self, url: str) -> None:
        self.token = _token()
        self.url = url
        self._client = _http_client(url, self.token)
        self._has_note = False

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool and return its structured result.

        If the tool reports an error, raises the exception for the error's code, such as Unavailable if the call may
        succeed later.
        """
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        try:
            response = self._post(body)
        except UnicodeEncodeError as exc:  # an argument of the command has undecodable bytes
            invalid = (
                name for name, value in arguments.items() if surrogate_problem(json.dumps(value, ensure_ascii=False))
            )
            byte = ord(exc.object[exc.start]) & 0xFF  # os.fsdecode has converted the byte to U+DC80 … U+DCFF
            raise errors.InvalidRequest(
                f"{next(invalid, 'arguments')} must be text in UTF-8, found the byte 0x{byte:02x}: "
                "set the terminal and its locale to UTF-8"
            ) from exc
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as exc:
            fix = "name a running server with --url or a directory with --data-dir, or start `mnemosyne dev`"
            raise errors.Unavailable(f"{self.url} cannot be reached: {exc}; {fix}") from exc
        answer = _json_object(response)
        result = answer.get("result")
        if isinstance(result, dict) and result.get("isError"):
            raise _tool_error(tool, result)
        if isinstance(result, dict):
            structured_content = result.get("structuredContent")
            if not isinstance(structured_content, dict) or not _has_fields(structured_content, tool):
                problem = "returns only text" if structured_content is None else "returns other fields"
                raise errors.InvalidRequest(f"{self.url} is another MCP server: its {tool} {problem}; change --url")
            return structured_content
        error = answer.get("error") or answer
        message = error.get("message", error) if isinstance(error, dict) else error
        if response.status_code in (401, 403):
            fix = f"give a key with the scopes read and write in MNEMOSYNE_TOKEN: {_CREATE_KEY}"
            raise errors.Unauthorized(f"{tool}: {message}; {fix}")
        if response.is_server_error:
            raise errors.Unavailable(f"{tool}: {message}")
        raise errors.InvalidRequest(f"{tool}: {message}")

    def _post(self, body: dict[str, Any]) -> httpx2.Response:
        """Post the body. While the server answers 429, wait and post it again. Before the first wait, print a note.

        Raises Unavailable if the server still answers 429 after RATE_LIMIT_SECONDS.
        """
        waited = 0.0
        while (response := self._client.post(self.url, json=body)).status_code == HTTPStatus.TOO_MANY_REQUESTS:
            seconds = _seconds(response.headers.get("retry-after", ""))
            problem = f"{self.url} answered 429 Too Many Requests"
            if waited + seconds > RATE_LIMIT_SECONDS:
                raise errors.Unavailable(f"{problem} for {waited:.0f} seconds: try again later")
            if not self._has_note:
                say(f"{problem}: waiting. Ctrl-C stops the command.", err=True)
                self._has_note = True
            time.sleep(seconds)
            waited += seconds
        return response


def _http_client(url: str, token: str) -> httpx2.Client:
    """Return a client for the URL. Raises Misconfigured if the proxy or the certificates of the user are unusable."""
    try:
        return httpx2.Client(
            timeout=httpx2.Timeout(60, connect=CONNECT_SECONDS),
            headers={"Authorization": f"Bearer {token}"} if token else {},
            verify=_certificates(url),
            # Call a server on this machine directly, because the proxy that environment variables name cannot reach it.
            trust_env=not _is_on_this_machine(url),
        )
    except (ImportError, ValueError, httpx2.InvalidURL) as exc:  # for example, a SOCKS proxy needs another package
        proxies = [name for name in os.environ if name.lower() in ("http_proxy", "https_proxy", "all_proxy")]
        names = " and ".join(proxies) or "the proxy of this machine"
        raise errors.Misconfigured(
            f"{names} must be the address of an HTTP proxy, such as http://127.0.0.1:3128: {exc}"
        ) from exc


def _is_on_this_machine(url: str) -> bool:
    try:
        return urlsplit(url).hostname in ("127.0.0.1", "::1", "localhost")
    except ValueError:  # the URL is invalid, which the first call of a tool reports
        return False


def _certificates(url: str) -> ssl.SSLContext:
    """Return a TLS context with the certificates of public authorities, or with those in SSL_CERT_FILE.

    For an http URL, the context has no certificates, because loading them takes 35 ms.
    """
    if url.lower().startswith("http:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return httpx2.create_ssl_context()
    except OSError as exc:  # ssl.SSLError is a subclass of OSError
        file = os.environ.get("SSL_CERT_FILE")
        reason = exc.strerror or exc
        raise errors.Misconfigured(f"SSL_CERT_FILE must be a file with certificates, got {file!r}: {reason}") from exc


def _has_fields(value: object, name: str) -> bool:
    """Whether a value is an object with the fields in _FIELDS[name].

    The value is the answer of the tool `name`, or an object in an answer's list `name`.
    """
    return isinstance(value, dict) and all(
        field in value and (field not in _FIELDS or _is_list_of_objects(value[field], field))
        for field in _FIELDS.get(name, ())
    )


def _is_list_of_objects(value: object, name: str) -> bool:
    return isinstance(value, list) and all(_has_fields(item, name) for item in value)


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
        raise errors.Misconfigured(
            f"MNEMOSYNE_TOKEN must be a whole key in ASCII characters, not a placeholder such as mnk_…: {_CREATE_KEY}"
        )
    return token


def _tool_error(tool: str, result: dict[str, Any]) -> errors.MnemosyneError:
    """Return the exception that corresponds to the code of a tool's error."""
    meta = result.get("_meta")
    error = meta.get(ERROR_META) if isinstance(meta, dict) else None
    code, is_retryable = (error.get("code"), error.get("retryable")) if isinstance(error, dict) else (None, False)
    kind = ERRORS.get(str(code), errors.Unavailable if is_retryable else errors.InvalidRequest)
    content = result.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    texts = [text for block in blocks if isinstance(text := block.get("text"), str)]
    return kind(f"{tool}: {texts[0] if texts else 'the server gives no reason'}")


def _json_object(response: httpx2.Response) -> dict[str, Any]:
    """Return the JSON object in the response, which has a result or an error.

    A response without such an object is not from an MCP server. For this response, the function raises Unauthorized if
    the status is 401 or 403, and otherwise Unavailable. It also raises Unavailable if the response redirects to another
    address.
    """
    status = f"{response.request.url} answered {response.status_code} {response.reason_phrase}"
    if response.has_redirect_location:
        address = response.request.url.join(response.headers["location"])
        raise errors.Unavailable(f"{status} and redirects to {address}: give this address with --url")
    try:
        answer = response.json()
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict) and answer.keys() & {"result", "error"}:
        return answer
    problem = f"{status} and no MCP answer"
    if response.status_code in (401, 403):  # a proxy refused the request, such as Cloud Run if auth_mode is iam
        raise errors.Unauthorized(
            f"{problem}; give a credential that the proxy before the server accepts in MNEMOSYNE_TOKEN"
        )
    fix = "try again" if response.is_server_error else "it is not an MCP endpoint, whose path is /mcp: change --url"
    raise errors.Unavailable(f"{problem}; {fix}")
