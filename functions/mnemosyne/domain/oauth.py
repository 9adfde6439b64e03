"""What the authorization server deals in: clients, people, requests, grants. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit
from uuid import UUID

from mnemosyne.domain.principal import Scope, scopes_of

REQUEST_SECONDS = 600
"""How long somebody may take to log in and to answer."""
CODE_SECONDS = 60
"""TTL of an authorization code, which a client takes at once; RFC 6749, section 4.1.2, would allow ten minutes."""
ACCESS_TOKEN_SECONDS = 24 * 3600
"""TTL of an access token by default: some clients do not refresh within a conversation. Revocation does not wait."""
REPEAT_SECONDS = 60
"""How long a used refresh token gives the same successor again. Longer than clients wait for an answer before they try
again, and shorter than any access token lives."""
REFRESH_TOKEN_SECONDS = 30 * 24 * 3600
"""TTL of a refresh token, and so of a grant that is not used."""
CLIENT_SECONDS = 90 * 24 * 3600
"""TTL of what is kept of a client's document, from its last use on: longer than a refresh token's."""
PENDING_OF_NETWORK, PENDING_OF_LARGE_NETWORK = 200, 1_000
"""Requests that wait for a log-in, of an IPv4 address or /64, and of a /24 or /48: the oldest give way to new ones."""
REDIRECT_URIS = 10
URI_LENGTH = 2_000
CLIENT_ID_LENGTH = 1_000
"""With a subject of 190 characters of four bytes, it fits an index entry, which has 2,704 bytes at most."""
OFFERED = (Scope.READ, Scope.WRITE, Scope.OPERATE)
"""What a client may ask for."""
UNASKED = (Scope.READ, Scope.WRITE)
"""What a client is offered that asks for nothing we know, and a person may have whose rule does not say."""

# Schemes of programs: a reverse domain name (https://www.rfc-editor.org/rfc/rfc8252#section-7.1) that is not of the
# operating system, or one that an MCP client uses all the same.
_REVERSE_DOMAIN = re.compile(
    r"(?!microsoft\.|windows\.|com\.apple\.|com\.android\.)([a-z]{2,}|xn--[a-z0-9-]+)(\.[a-z0-9-]+)+"
)
_CLIENT_SCHEMES = {"cursor", "vscode", "vscode-insiders", "windsurf"}
# A host as a Content-Security-Policy can name it.
_HOST = re.compile(r"([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?")
_LOOPBACK = ("127.0.0.1", "[::1]", "localhost")


@dataclass(frozen=True, kw_only=True)
class Client:
    """A program that asks for tokens on a person's behalf. All are public: none has a secret."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    refreshes: bool = True

    def takes(self, redirect_uri: str) -> bool:
        """Whether answers may be sent there: exactly as registered, or on loopback at any port (RFC 8252, 7.3)."""
        return any(_same(registered, redirect_uri) for registered in self.redirect_uris)

    @property
    def host(self) -> str:
        """Whose metadata document names it; empty where it has registered itself, which anybody may."""
        return urlsplit(self.id).netloc if self.id.startswith("https://") else ""


@dataclass(frozen=True, kw_only=True)
class Person:
    """Somebody who has logged in, and what they may have."""

    subject: str
    name: str
    namespace: str
    scopes: frozenset[Scope]


@dataclass(frozen=True, kw_only=True)
class Pending:
    """A request of a client's, between /authorize and the person's answer.

    Its status is started, logging_in while the identity provider is asked, logged_in, or decided.
    """

    parameters: Mapping[str, str]
    status: str
    log_in_hash: bytes | None
    attempts: int
    person: Person | None
    client: Client | None = None
    """The client as it was at /authorize, with the redirect URI that it asked for; None for the account page."""


@dataclass(frozen=True, kw_only=True)
class Grant:
    """What a person has let a client do: the family that its codes and tokens belong to."""

    id: UUID
    subject: str
    person: str
    """Who that is, as people know them."""
    namespace: str
    client_id: str
    scopes: frozenset[Scope]
    resource: str
    expires_at: datetime
    client_name: str = ""
    stands: bool = True
    """Whether it is neither revoked nor expired."""


@dataclass(frozen=True, kw_only=True)
class StandingGrant:
    """A grant that is neither revoked nor expired, as `mcp` sees it."""

    subject: str
    namespace: str
    client_id: str
    scopes: frozenset[Scope]


@dataclass(frozen=True, kw_only=True)
class Code:
    """An authorization code as it is kept: without itself."""

    hash: bytes
    grant: Grant
    redirect_uri: str
    code_challenge: str
    valid: bool = True
    used: bool = False


@dataclass(frozen=True, kw_only=True)
class RefreshToken:
    """A refresh token as it is kept: without itself."""

    hash: bytes
    grant: Grant
    valid: bool = True
    used: bool = False
    successor_salt: bytes | None = None
    """What its successor was derived with, while that successor may be answered again."""


@dataclass(frozen=True, kw_only=True)
class Consent:
    """What a person has agreed to before, of one client and one resource."""

    subject: str
    client_id: str
    scopes: frozenset[Scope]
    resource: str


@dataclass(frozen=True, kw_only=True)
class PeopleRule:
    """Who may log in, which namespace is theirs, and what they may have there; the first rule that fits holds.

    `who` is an e-mail address, `@domain`, `claim:value`, or `*` for whomever the identity provider knows. Without a
    namespace each person has one of their own.
    """

    who: str
    namespace: str = ""
    scopes: frozenset[Scope] = frozenset(UNASKED)

    def fits(self, claims: Mapping[str, Any]) -> bool:
        """Whether these claims of an ID token are of one of them; an address counts once it is verified."""
        if self.who == "*":
            return True
        email = verified_email(claims).casefold()
        if self.who.startswith("@"):
            return email.endswith(self.who.casefold()) and email.count("@") == 1
        if "@" in self.who:
            return email == self.who.casefold()
        claim, _, value = self.who.partition(":")
        had = claims.get(claim)
        return value in map(str, had) if isinstance(had, list) else str(had) == value and had is not None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Read a rule out of JSON; raises ValueError naming what is wrong with it."""
        if not isinstance(given, Mapping) or not isinstance(who := given.get("who"), str) or not _is_who(who):
            raise ValueError(f"who must be an address, @domain, claim:value or *, got {given!r}")
        if unknown := set(given) - {"who", "namespace", "scopes"}:
            raise ValueError(f"a rule has who, namespace and scopes, got {', '.join(sorted(unknown))}")
        names = given.get("scopes", [*UNASKED])
        scopes = scopes_of(names) if isinstance(names, list) else frozenset()
        if not scopes or len(scopes) != len(names) or not scopes <= set(OFFERED):
            raise ValueError(f"scopes must be some of {', '.join(OFFERED)}, got {names!r}")
        namespace = given.get("namespace", "")
        if not isinstance(namespace, str) or len(namespace) > 200 or namespace.startswith("user:"):
            raise ValueError(f"namespace must be at most 200 characters and not start with user:, got {namespace!r}")
        return cls(who=who, namespace=namespace, scopes=scopes)


def verified_email(claims: Mapping[str, Any]) -> str:
    """Return the address that the provider has verified, empty where it has not; some say so by a text, as Cognito:
    https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-the-id-token.html.
    """
    return str(claims.get("email") or "") if claims.get("email_verified") in (True, "true") else ""


def addresses_of(claims: Mapping[str, Any]) -> list[str]:
    """Return every address that a person claims, verified or not: what is blocked stays blocked."""
    return [str(claims[name]) for name in ("email", "preferred_username", "upn") if "@" in str(claims.get(name, ""))]


def blocked_name(who: str) -> str:
    """Return an address or subject as it is kept of a blocked person; raises ValueError saying what is wrong."""
    name = who.strip()
    if not 1 <= len(name) <= 200 or not name.isprintable() or name.startswith("@") or name == "*":
        raise ValueError(f"who must be an address or a subject of at most 200 characters, got {who[:200]!r}")
    return name.casefold() if "@" in name else name


def _is_who(who: str) -> bool:
    return who == "*" or bool(re.fullmatch(r"[^@\s]*@[^@\s]+|[\w.-]+:\S+", who))


def known_resource(resource: str, resources: tuple[str, ...]) -> str | None:
    """Return the resource that a client means, as we write it; None if it is none of ours.

    Clients differ in the case of the host, the default port, a slash at the end and a query; none of these selects
    another resource here.
    """
    wanted = _canonical(resource)
    return next((one for one in resources if wanted and _canonical(one) == wanted), None)


def _canonical(resource: str) -> tuple[str, str, int | None, str] | None:
    parts = _split(resource)
    if parts is None or parts.scheme not in ("http", "https") or "@" in parts.netloc or "#" in resource:
        return None
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    return parts.scheme, (parts.hostname or "").removesuffix("."), port, parts.path.rstrip("/")


def redirect_problem(uri: object) -> str:
    """Return why a client may not be answered at that address; empty where it may."""
    if not isinstance(uri, str) or len(uri) > URI_LENGTH or not uri.isascii() or not uri.isprintable() or " " in uri:
        return f"must be a URI of at most {URI_LENGTH} characters of ASCII"
    parts = _split(uri)
    if parts is None or not parts.scheme or "#" in uri or "\\" in uri:
        return "must be an absolute URI without a fragment"
    if parts.scheme == "https":
        return "" if _HOST.fullmatch(parts.netloc) else "must name a host, and no user"
    if parts.scheme == "http":
        return "" if _loopback_host(parts) else "must be https, or http on loopback: 127.0.0.1, [::1] or localhost"
    if _REVERSE_DOMAIN.fullmatch(parts.scheme) or parts.scheme in _CLIENT_SCHEMES:
        return ""
    return f"must be https, http on loopback, or have a scheme such as com.example.app, got {parts.scheme}:"


def redirect_host(uri: str) -> str:
    """Return where that address leads, as a person is told: a host, or the scheme of a program on their device."""
    parts = urlsplit(uri)
    return parts.netloc if parts.scheme in ("http", "https") else f"{parts.scheme}:"


def is_on_device(uri: str) -> bool:
    """Whether a program on the person's own machine takes the answer, by loopback or by a scheme of its own; any other
    program there may pretend to be that one: RFC 8252, section 8.6.
    """
    return urlsplit(uri).scheme != "https"


def _is_loopback(uri: str) -> bool:
    parts = _split(uri)
    return parts is not None and parts.scheme == "http" and _loopback_host(parts)


def _same(registered: str, asked: str) -> bool:
    if registered == asked:
        return True
    if redirect_problem(asked) or not _is_loopback(registered) or not _is_loopback(asked):
        return False
    one, other = urlsplit(registered), urlsplit(asked)
    return (one.hostname, one.path, one.query) == (other.hostname, other.path, other.query)


def _loopback_host(parts: SplitResult) -> bool:
    host, _, port = parts.netloc.rpartition(":") if not parts.netloc.endswith("]") else (parts.netloc, "", "")
    if not host:
        host, port = port, ""
    return host in _LOOPBACK and (not port or port.isdigit())


def _split(uri: str) -> SplitResult | None:
    try:
        parts = urlsplit(uri)
        parts.port  # noqa: B018 - reading it is what fails
    except ValueError:
        return None
    return parts
