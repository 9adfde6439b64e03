"""OAuth clients, identified by a Client ID Metadata Document on the web or by dynamic registration.

https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/ and
https://www.rfc-editor.org/rfc/rfc7591.

The id of a registered client contains the registration itself (RFC 7591, appendix A.5.2). Therefore a registration is
not stored in the database, and the same registration always has the same id. A metadata document is stored when a
person has consented to its client.
"""

import asyncio
import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cachetools import TTLCache

from mnemosyne.domain.client_name import NAMELESS, client_name
from mnemosyne.domain.oauth import CLIENT_ID_LENGTH, Client
from mnemosyne.domain.parsing import parse_json
from mnemosyne.domain.redirect_uris import redirect_problem
from mnemosyne.errors import InvalidRequest, MnemosyneError, Unavailable
from mnemosyne.observability import EventLog
from mnemosyne.ports.identity import ClientDocuments

if TYPE_CHECKING:
    from mnemosyne.adapters.database.oauth import OAuthStore

log = EventLog(__name__)

FRESH_SECONDS = 300.0
"""How long a client's metadata document is used before it is fetched again."""
FAILED_SECONDS = 30.0
"""How long to wait after a failed fetch of a document before the next fetch."""
DOCUMENT_SECONDS = 7 * 24 * 3600
"""How long a stored document is used for new log-ins while it cannot be fetched."""
FRESH_CHARACTERS = 4_000_000
"""Maximum number of characters of all documents that are cached for FRESH_SECONDS."""
FAILED_ENTRIES = 2_000
"""Maximum number of failed fetches of documents that are remembered for FAILED_SECONDS."""
_REGISTERED = "registered."
_GRANT_TYPES = {"authorization_code", "refresh_token"}


class Clients:
    """Reads and registers clients."""

    def __init__(self, store: "OAuthStore", documents: ClientDocuments) -> None:
        self._store = store
        self._documents = documents
        self._fresh: TTLCache[str, Client] = TTLCache(FRESH_CHARACTERS, FRESH_SECONDS, getsizeof=_cached_size)
        self._failures: TTLCache[str, tuple[type[MnemosyneError], str]] = TTLCache(FAILED_ENTRIES, FAILED_SECONDS)
        self._fetches: dict[str, asyncio.Task[Client]] = {}

    async def read(self, client_id: str, address: str, before_fetch: Callable[[], None]) -> Client | None:
        """Return the client with this id; None if the id is not the URL of a document and contains no registration.

        `before_fetch` is called before a document is fetched, and an error that it raises prevents the fetch.
        `address` is the address of the caller. Raises InvalidRequest if the document is not valid, and Unavailable if
        the fetch fails.
        """
        if not client_id.startswith("https://"):
            return _decode_registration(client_id)
        if problem := _id_problem(client_id):
            raise InvalidRequest(f"client_id {problem}, got {client_id[:100]!r}")
        if (client := self._fresh.get(client_id)) is not None:
            return client
        if (failure := self._failures.get(client_id)) is not None:
            raise failure[0](failure[1])
        task = self._fetches.get(client_id)
        if task is None or task.get_loop() is not asyncio.get_running_loop():
            before_fetch()
            task = self._fetches[client_id] = asyncio.create_task(self._fetch(client_id, address))
            task.add_done_callback(lambda _: self._fetches.pop(client_id, None))
        # Shielded: callers share the fetch, so the disconnect of one caller must not cancel it.
        return await asyncio.shield(task)

    def find_stored(self, client_id: str, seconds: float = float("inf")) -> Client | None:
        """Return the client without a fetch; None if its document is not stored, or was fetched over `seconds` ago.

        Raises Unavailable if the database is not available.
        """
        if not client_id.startswith("https://"):
            return _decode_registration(client_id)
        with self._store.transaction() as rows:
            client_and_age = rows.client(client_id)
        return client_and_age[0] if client_and_age and client_and_age[1] < seconds else None

    def register(self, body: bytes) -> Mapping[str, Any]:
        """Register a client and return the response as in RFC 7591. Raises InvalidRequest."""
        client = _add_id(_build_client(parse_json(body, of="the registration"), ""))
        log.info("audit", action="register_client", outcome="done", client=client.id, name=client.name)
        return {
            "client_id": client.id,
            "client_name": client.name,
            "redirect_uris": list(client.redirect_uris),
            "grant_types": ["authorization_code", "refresh_token"] if client.refreshes else ["authorization_code"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }

    async def _fetch(self, client_id: str, address: str) -> Client:
        try:
            document = await self._documents.fetch(client_id, address)
            metadata = parse_json(document, of="the client's metadata document")
            if not isinstance(metadata, Mapping) or metadata.get("client_id") != client_id:
                raise InvalidRequest(f"the metadata document {client_id} must have its own URL as client_id")
            client = _build_client(metadata, client_id)
        except (InvalidRequest, Unavailable) as exc:
            kind: type[MnemosyneError] = InvalidRequest if isinstance(exc, InvalidRequest) else Unavailable
            self._failures[client_id] = kind, str(exc)
            raise
        self._fresh[client_id] = client
        return client


def _cached_size(client: Client) -> int:
    # 100 and 1,000 stand for the memory that Python's objects take in addition to their characters. Without them, many
    # short URIs would take more memory than they are counted for.
    return len(client.id) + sum(len(uri) + 100 for uri in client.redirect_uris) + 1_000


def _add_id(client: Client) -> Client:
    """Return the client with its id, which contains the registration.

    If the id would be too long, the registration does not contain the client's name.
    """
    for name in (client.name, NAMELESS):
        fields = [name, client.refreshes, *client.redirect_uris]
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        client_id = _REGISTERED + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        if len(client_id) <= CLIENT_ID_LENGTH:
            return Client(id=client_id, name=name, redirect_uris=client.redirect_uris, refreshes=client.refreshes)
    length = sum(map(len, client.redirect_uris))
    raise InvalidRequest(f"redirect_uris must have at most about 700 characters together, got {length:,}")


def _decode_registration(client_id: str) -> Client | None:
    """Decode the registration in the id; None if the id contains none.

    The id needs no signature, because anybody may register any client.
    """
    if not client_id.startswith(_REGISTERED) or len(client_id) > CLIENT_ID_LENGTH:
        return None
    encoded = client_id.removeprefix(_REGISTERED)
    try:
        fields = json.loads(base64.b64decode(encoded + "=" * (-len(encoded) % 4), b"-_", validate=True))
        name, refreshes, *uris = fields
        types = ["authorization_code", "refresh_token"] if refreshes is True else ["authorization_code"]
        return _build_client({"client_name": name, "redirect_uris": uris, "grant_types": types}, client_id)
    except (binascii.Error, ValueError, TypeError, RecursionError, InvalidRequest):
        return None


def _id_problem(client_id: str) -> str:
    """Return why a URL is not a valid client id, or an empty text if it is valid.

    Section 3 of the draft on Client ID Metadata Documents has the rules.
    """
    is_valid = re.fullmatch(r"[!-~]+", client_id) and "#" not in client_id and "\\" not in client_id
    if len(client_id) > CLIENT_ID_LENGTH or not is_valid:
        return f"must be a URL of at most {CLIENT_ID_LENGTH:,} characters of ASCII without a fragment"
    try:
        parts = urlsplit(client_id)
        complete = parts.hostname and parts.path.strip("/") and "@" not in parts.netloc and parts.port in (None, 443)
    except ValueError:
        return "must be a URL"
    if not complete:
        return "must name a host and a path, no user, and no port but 443"
    return "must have no . or .. in its path" if {".", ".."} & set(parts.path.split("/")) else ""


def _build_client(metadata: Any, client_id: str) -> Client:
    """Build a client from its metadata. Raises InvalidRequest with the unsupported value."""
    if not isinstance(metadata, Mapping):
        raise InvalidRequest("the client's metadata must be a JSON object")
    # Treat null, "" and [] like a missing field, because libraries that map classes to JSON write these for a field
    # without a value.
    metadata = {name: value for name, value in metadata.items() if value not in (None, "", [])}
    if problem := _authentication_problem(metadata):
        raise InvalidRequest(problem)
    types = metadata.get("grant_types", sorted(_GRANT_TYPES))
    if not isinstance(types, list) or "authorization_code" not in types:
        raise InvalidRequest("grant_types must have authorization_code")
    return Client(
        id=client_id,
        name=client_name(metadata.get("client_name")),
        redirect_uris=_supported_uris(metadata.get("redirect_uris")),
        refreshes="refresh_token" in types,
    )


def _supported_uris(uris: object) -> tuple[str, ...]:
    """Return the supported redirect URIs of a client's metadata, without repetitions.

    Unsupported URIs are left out, because clients list the URIs of all their platforms. /authorize refuses such a URI.
    Raises InvalidRequest if no URI is supported.
    """
    if not isinstance(uris, list) or not uris:
        raise InvalidRequest("redirect_uris must be a list of URIs")
    problems = [redirect_problem(uri) for uri in uris]
    if all(problems):
        raise InvalidRequest(f"redirect_uris: {str(uris[0])[:100]!r} {problems[0]}")
    return tuple(dict.fromkeys(uri for uri, problem in zip(uris, problems, strict=True) if not problem))


def _authentication_problem(metadata: Mapping[str, Any]) -> str:
    """Return why the client cannot authenticate with `none`, the only supported method; empty if it can.

    A client that asks for a method with a secret gets `none` in the response to its registration (RFC 7591, section
    3.2.1). A document may name a preferred method and a list of supported methods. For example, ChatGPT's document
    prefers `private_key_jwt` and supports `none`.
    """
    supported = metadata.get("token_endpoint_auth_methods_supported")
    preferred = metadata.get("token_endpoint_auth_method", "none")
    methods = {str(method) for method in supported} if isinstance(supported, list) and supported else {str(preferred)}
    if "client_secret" in metadata:
        return "client_secret must be left out, because clients have no secret"
    if not methods & {"none", "client_secret_basic", "client_secret_post"}:
        return f"token_endpoint_auth_method must be none, got {', '.join(sorted(methods))[:100]!r}"
    return ""
