"""Redirect URIs: the addresses of clients to which the authorization server sends authorization codes."""

import re
from collections.abc import Iterable
from urllib.parse import SplitResult, urlencode, urlsplit

URI_LENGTH = 2_000
"""Maximum characters of a URI."""

# Two kinds of private-use URI schemes are accepted. The first are reverse domain names
# (https://www.rfc-editor.org/rfc/rfc8252#section-7.1), except names that belong to operating systems, such as
# `com.apple`. The second are the schemes in _CLIENT_SCHEMES, which some MCP clients use.
_REVERSE_DOMAIN = re.compile(
    r"(?!microsoft\.|windows\.|com\.apple\.|com\.android\.)([a-z]{2,}|xn--[a-z0-9-]+)(\.[a-z0-9-]+)+"
)
_CLIENT_SCHEMES = {"cursor", "vscode", "vscode-insiders", "windsurf"}
# Hosts that are accepted: names of ASCII letters, digits, hyphens, dots and underscores, and IPv6 addresses.
_HOST = re.compile(r"([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?")
_LOOPBACK = ("127.0.0.1", "[::1]", "localhost")


def redirect_problem(uri: object) -> str:
    """Return the reason why a redirect URI is not allowed; empty if it is allowed."""
    if not isinstance(uri, str) or len(uri) > URI_LENGTH or not uri.isascii() or not uri.isprintable() or " " in uri:
        return f"must be a URI of at most {URI_LENGTH} characters of ASCII"
    parts = split_uri(uri)
    if parts is None or not parts.scheme or "#" in uri or "\\" in uri:
        return "must be an absolute URI without a fragment"
    if parts.scheme == "https":
        return "" if _HOST.fullmatch(parts.netloc) else "must name a host, and no user"
    if parts.scheme == "http":
        return "" if _has_loopback_host(parts) else "must be https, or http on loopback: 127.0.0.1, [::1] or localhost"
    if _REVERSE_DOMAIN.fullmatch(parts.scheme) or parts.scheme in _CLIENT_SCHEMES:
        return ""
    return f"must be https, http on loopback, or have a scheme such as com.example.app, got {parts.scheme}:"


def redirect_host(uri: str) -> str:
    """Return the host and port of a redirect URI, or a custom scheme such as `vscode:`.

    The consent page shows the result, so that a person sees which application receives the code.
    """
    parts = urlsplit(uri)
    return parts.netloc if parts.scheme in ("http", "https") else f"{parts.scheme}:"


def add_parameters(uri: str, parameters: Iterable[tuple[str, str]]) -> str:
    """Append parameters to the query of a URI, and leave the rest of the URI unchanged.

    Clients compare the URI with their own spelling of it, so its text must not change. If the URI were parsed and
    written again, `?native` would become `?native=`, and `com.example.app:///callback` would lose two slashes.
    """
    separator = "?" if "?" not in uri else "" if uri.endswith(("?", "&")) else "&"
    return f"{uri}{separator}{urlencode([*parameters])}"


def is_on_device(uri: str) -> bool:
    """Whether the URI leads to a program on the person's device, and not to a web site.

    Another program on the device can impersonate such a program (RFC 8252, section 8.6).
    """
    return urlsplit(uri).scheme != "https"


def _is_loopback(uri: str) -> bool:
    parts = split_uri(uri)
    return parts is not None and parts.scheme == "http" and _has_loopback_host(parts)


def is_same(registered: str, requested: str) -> bool:
    """Whether two redirect URIs are equal. Ports on loopback are not compared (RFC 8252, section 7.3)."""
    if registered == requested:
        return True
    if redirect_problem(requested) or not _is_loopback(registered) or not _is_loopback(requested):
        return False
    own, other = urlsplit(registered), urlsplit(requested)
    return (own.hostname, own.path, own.query) == (other.hostname, other.path, other.query)


def _has_loopback_host(parts: SplitResult) -> bool:
    host, _, port = parts.netloc.rpartition(":") if not parts.netloc.endswith("]") else (parts.netloc, "", "")
    if not host:
        host, port = port, ""
    return host in _LOOPBACK and (not port or port.isdigit())


def split_uri(uri: str) -> SplitResult | None:
    """Split a URI into its parts; None if it is not valid."""
    try:
        parts = urlsplit(uri)
        parts.port  # noqa: B018 - reading an invalid port raises ValueError
    except ValueError:
        return None
    return parts
