"""Data types of the authorization server: clients, people, authorization requests, grants and tokens."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from urllib.parse import urlsplit
from uuid import UUID

from mnemosyne.domain.names import namespace_name
from mnemosyne.domain.principal import Scope, scopes_of
from mnemosyne.domain.redirect_uris import is_same, split_uri

REQUEST_SECONDS = 600
"""Time in which a person must log in and consent."""
CODE_SECONDS = 60
"""Lifetime of an authorization code. It is short, because clients use a code at once. RFC 6749, section 4.1.2, allows
ten minutes."""
ACCESS_TOKEN_SECONDS = 24 * 3600
"""Default lifetime of an access token. It is long, because some clients do not refresh tokens. A token ends earlier if
its grant is revoked."""
REPEAT_SECONDS = 60
"""Time in which a client may use the same refresh token again, for example because it has not received the response. It
then gets the same new refresh token as the first time. The time is longer than clients wait before a retry, and shorter
than the lifetime of any access token."""
REFRESH_TOKEN_SECONDS = 30 * 24 * 3600
"""Lifetime of a refresh token. A grant that is not used for this time expires with its last refresh token."""
CLIENT_SECONDS = 90 * 24 * 3600
"""Time for which a client's metadata document is stored after its last use. It is longer than the lifetime of a refresh
token."""
PENDING_OF_NETWORK, PENDING_OF_LARGE_NETWORK = 200, 1_000
"""Maximum number of pending authorization requests of a small network (an IPv4 address or IPv6 /64), and of a large
network (/24 or /48). If a network already has this number of pending requests, a new request replaces the network's
oldest request for which nobody has logged in."""
CLIENT_ID_LENGTH = 1_000
"""Maximum characters of a client's id. With this limit, the id and a person's subject (at most 190 characters of four
bytes) fit together into an index entry of PostgreSQL, which has at most 2,704 bytes."""
SUPPORTED_SCOPES = (Scope.READ, Scope.WRITE, Scope.OPERATE)
"""Scopes that a client may request."""
DEFAULT_SCOPES = (Scope.READ, Scope.WRITE)
"""Scopes of a client that requests no supported scope, and of people whose access rule has no scopes."""


@dataclass(frozen=True, kw_only=True)
class Client:
    """A program that gets tokens on a person's behalf. All clients are public: none has a secret."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    refreshes: bool = True

    def allows_redirect(self, redirect_uri: str) -> bool:
        """Whether the client has registered the URI. Ports on loopback are not compared (RFC 8252, section 7.3)."""
        return any(is_same(registered, redirect_uri) for registered in self.redirect_uris)

    @property
    def host(self) -> str:
        """Host of the client's metadata document, whose URL is the client's id.

        Empty for a client that registered itself, because anybody can register a client with any name.
        """
        return urlsplit(self.id).netloc if self.id.startswith("https://") else ""


@dataclass(frozen=True, kw_only=True)
class Person:
    """A logged-in person with their namespace and scopes."""

    subject: str
    name: str
    namespace: str
    scopes: frozenset[Scope]


@dataclass(frozen=True, kw_only=True)
class PendingAuthorization:
    """An authorization request, begun by a client at /authorize or by a person on the account page.

    Its status is started, logging_in (while this server calls the identity provider), logged_in, or decided (after
    the person has allowed or refused the access).
    """

    parameters: Mapping[str, str]
    status: str
    log_in_hash: bytes | None
    attempts: int
    person: Person | None
    client: Client | None = None
    """The client as it was at /authorize. None if the request comes from the account page."""


@dataclass(frozen=True, kw_only=True)
class ValidGrant:
    """A valid grant (see Grant), with the fields that the Cloud Run function `mcp` needs to admit a caller."""

    subject: str
    namespace: str
    client_id: str
    client_name: str = ""
    scopes: frozenset[Scope]
    expires_at: datetime
    last_used_at: datetime | None = None
    """Time of the last use, with an accuracy of a minute. None before the first use."""


@dataclass(frozen=True, kw_only=True)
class Grant(ValidGrant):
    """Access that a person has given a client. Codes and tokens belong to a grant."""

    id: UUID
    person: str
    """Display name of the person."""
    resource: str
    valid: bool = True
    """Whether the grant can be used. False if it is revoked or expired, or if its person or client is blocked."""


@dataclass(frozen=True, kw_only=True)
class Code:
    """A stored authorization code. The database has the hash of the code, and not the code itself."""

    hash: bytes
    grant: Grant
    redirect_uri: str
    code_challenge: str
    valid: bool = True
    used: bool = False


@dataclass(frozen=True, kw_only=True)
class RefreshToken:
    """A stored refresh token. The database has the hash of the token, and not the token itself."""

    hash: bytes
    grant: Grant
    valid: bool = True
    used: bool = False
    successor_salt: bytes | None = None
    """Salt from which the token's successor (the next refresh token) was derived. None if the client may no
    longer get the same successor again (see REPEAT_SECONDS)."""


@dataclass(frozen=True, kw_only=True)
class Consent:
    """Scopes that a person has allowed for one client and one resource."""

    subject: str
    client_id: str
    scopes: frozenset[Scope]
    resource: str


@dataclass(frozen=True, kw_only=True)
class PeopleRule:
    """An access rule: it says which people may log in, and with which namespace and scopes.

    To a person who logs in, the first matching rule applies.

    `who` is an e-mail address, `@domain`, `claim:value` for everybody whose ID token has this claim with this value, or
    `*` for everybody with an account at the identity provider. If the rule has no namespace, each person has a separate
    namespace.
    """

    who: str
    namespace: str = ""
    scopes: frozenset[Scope] = frozenset(DEFAULT_SCOPES)

    def matches(self, claims: Mapping[str, Any]) -> bool:
        """Whether the rule matches the claims of an ID token. Only verified addresses match."""
        if self.who == "*":
            return True
        email = verified_email(claims).casefold()
        if self.who.startswith("@"):
            return email.endswith(self.who.casefold()) and email.count("@") == 1
        if ":" not in self.who.partition("@")[0]:
            return email == self.who.casefold()
        # Names and values of claims may have colons, as in `cognito:groups:staff`, so try each colon as the separator.
        colons = [place for place, character in enumerate(self.who) if character == ":"]
        values = {**claims, "email": verified_email(claims)}  # at some providers, anybody can set an unverified address
        return any(_has_value(values.get(self.who[:colon]), self.who[colon + 1 :]) for colon in colons)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Self:
        """Build a rule from a JSON object. Raises ValueError, with the problem, if the object is not a valid rule."""
        who = fields.get("who") if isinstance(fields, Mapping) else None
        if not isinstance(who, str) or not re.fullmatch(r"\*|[^@\s]*@[^@\s]+|[\w.-]+:\S(.*\S)?", who):
            raise ValueError(f"who must be an address, @domain, claim:value or *, got {fields!r}")
        if unknown := set(fields) - {"who", "namespace", "scopes"}:
            raise ValueError(f"a rule has who, namespace and scopes, got {', '.join(sorted(unknown))}")
        names = fields.get("scopes", [*DEFAULT_SCOPES])
        scopes = scopes_of(names) if isinstance(names, list) else frozenset()
        if not scopes or len(scopes) != len(names) or not scopes <= set(SUPPORTED_SCOPES):
            raise ValueError(f"scopes must be some of {', '.join(SUPPORTED_SCOPES)}, got {names!r}")
        namespace = fields.get("namespace", "")
        if not isinstance(namespace, str) or namespace_name(namespace) != namespace or namespace.startswith("user:"):
            wanted = "at most 200 visible characters without spaces at its ends, and not start with user:"
            raise ValueError(f"namespace must be {wanted}, got {namespace!r}")
        return cls(who=who, namespace=namespace, scopes=scopes)


def verified_email(claims: Mapping[str, Any]) -> str:
    """Return the e-mail address if the provider has verified it, else an empty string.

    Cognito sends `email_verified` as text:
    https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-the-id-token.html.
    """
    return str(claims.get("email") or "") if claims.get("email_verified") in (True, "true") else ""


def addresses_of(claims: Mapping[str, Any]) -> list[str]:
    """Return all e-mail addresses in the claims, verified or not, to check whether the person is blocked."""
    return [str(claims[name]) for name in ("email", "preferred_username", "upn") if "@" in str(claims.get(name, ""))]


def blocked_name(who: str) -> str:
    """Normalize the e-mail address, or the subject (user id), of a person to block.

    Raises ValueError, with the problem, if it is neither.
    """
    name = who.strip()
    if not 1 <= len(name) <= 200 or not name.isprintable() or name.startswith("@") or name == "*":
        raise ValueError(f"who must be an address or a subject of at most 200 characters, got {who[:200]!r}")
    return name.casefold() if "@" in name else name


def _has_value(actual: object, value: str) -> bool:
    """Whether `actual`, the value of a claim, is `value` or a list that contains `value`.

    A Boolean claim is compared with the words true and false, without regard to case.
    """
    if isinstance(actual, list):
        return any(_has_value(item, value) for item in actual)
    if isinstance(actual, bool):
        return value.lower() == str(actual).lower()
    return actual is not None and str(actual) == value


def canonical_resource(resource: str, resources: tuple[str, ...]) -> str | None:
    """Return the element of `resources` (the server's URLs) that a client means by the URL `resource`.

    None if the client means none of them. The comparison of the URLs ignores the case of the host, the default port, a
    trailing slash and the query.
    """
    canonical = _normalize_resource(resource)
    return next((own for own in resources if canonical and _normalize_resource(own) == canonical), None)


def _normalize_resource(resource: str) -> tuple[str, str, int | None, str] | None:
    parts = split_uri(resource)
    if parts is None or parts.scheme not in ("http", "https") or "@" in parts.netloc or "#" in resource:
        return None
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    return parts.scheme, (parts.hostname or "").removesuffix("."), port, parts.path.rstrip("/")
