"""Which programs may ask for tokens: those with a Client ID Metadata Document, and those that register.

https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/ and
https://www.rfc-editor.org/rfc/rfc7591.
"""

import re
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mnemosyne.domain.oauth import (
    CLIENT_ID_LENGTH,
    CLIENT_SECONDS,
    NAME_LENGTH,
    REDIRECT_URIS,
    UNUSED_CLIENT_SECONDS,
    Client,
    redirect_problem,
)
from mnemosyne.domain.parsing import parse_json
from mnemosyne.errors import InvalidRequest, OverBudget, Unavailable
from mnemosyne.oauth_ports import ClientDocuments, OAuthRows, OAuthStore
from mnemosyne.observability import EventLog

log = EventLog(__name__)

FRESH_SECONDS = 300.0
"""How long a document is not read again."""
DOCUMENT_SECONDS = 7 * 24 * 3600
"""How long a document that cannot be read any more is taken as it was."""
REGISTRATIONS = 10_000
"""How many clients are kept: more register once those that were never used have expired, after a day."""
_GRANT_TYPES = {"authorization_code", "refresh_token"}


class Clients:
    """Finds clients by their ids, and registers new ones."""

    def __init__(self, store: OAuthStore, documents: ClientDocuments) -> None:
        self._store = store
        self._documents = documents

    def find(self, client_id: str) -> Client | None:
        """Return the client, its document read anew where that is due; None where it is unknown.

        Raises InvalidRequest where its document says something else than it must, Unavailable.
        """
        with self._store.transaction() as rows:
            known = rows.client(client_id)
        if not client_id.startswith("https://"):
            return known[0] if known else None
        if known and known[1] < FRESH_SECONDS:
            return known[0]
        if problem := _id_problem(client_id):
            raise InvalidRequest(f"client_id {problem}, got {client_id[:100]!r}")
        try:
            client = _of_document(self._documents.fetch(client_id), client_id)
        except Unavailable:
            if known:
                return known[0]
            raise
        with self._store.transaction() as rows:
            rows.keep_client(client, DOCUMENT_SECONDS)
        return client

    def register(self, body: bytes) -> Mapping[str, Any]:
        """Return the registration of a new client, as RFC 7591 has it answered.

        Raises InvalidRequest, or OverBudget where too many have registered.
        """
        metadata = parse_json(body, of="the registration")
        client = _client(metadata, secrets.token_urlsafe(24))
        with self._store.transaction() as rows:
            rows.forget_expired()
            if rows.clients() >= REGISTRATIONS:
                log.error("registrations_full", clients=REGISTRATIONS)
                raise OverBudget("too many clients have registered: try again in an hour", 3600)
            rows.keep_client(client, UNUSED_CLIENT_SECONDS)
        log.info("audit", action="register_client", outcome="done", client=client.id, name=client.name)
        return {
            "client_id": client.id,
            "client_name": client.name,
            "redirect_uris": list(client.redirect_uris),
            "grant_types": ["authorization_code", "refresh_token"] if client.refreshes else ["authorization_code"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }


def keep_used(rows: OAuthRows, client: Client) -> None:
    """Keep a client that is used for longer than one that never was."""
    rows.keep_client(client, DOCUMENT_SECONDS if client.host else CLIENT_SECONDS)


def _id_problem(client_id: str) -> str:
    """Return what is wrong with a URL as a client's id: section 3 of the draft."""
    sound = re.fullmatch(r"[!-~]+", client_id) and "#" not in client_id and "\\" not in client_id
    if len(client_id) > CLIENT_ID_LENGTH or not sound:
        return f"must be a URL of at most {CLIENT_ID_LENGTH:,} characters of ASCII without a fragment"
    try:
        parts = urlsplit(client_id)
        named = parts.hostname and parts.path.strip("/") and "@" not in parts.netloc and parts.port in (None, 443)
    except ValueError:
        return "must be a URL"
    if not named:
        return "must name a host and a path, no user, and no port but 443"
    return "must have no dots as a part of its path" if {".", ".."} & set(parts.path.split("/")) else ""


def _of_document(document: bytes, client_id: str) -> Client:
    metadata = parse_json(document, of="the client's metadata document")
    if not isinstance(metadata, Mapping) or metadata.get("client_id") != client_id:
        raise InvalidRequest(f"the document at {client_id} must name itself as its client_id")
    return _client(metadata, client_id)


def _client(metadata: Any, client_id: str) -> Client:
    """Read a client's metadata; raises InvalidRequest naming what cannot be had."""
    if not isinstance(metadata, Mapping):
        raise InvalidRequest("the client's metadata must be a JSON object")
    uris = metadata.get("redirect_uris")
    if not isinstance(uris, list) or not 1 <= len(uris) <= REDIRECT_URIS:
        raise InvalidRequest(f"redirect_uris must be 1 to {REDIRECT_URIS} addresses")
    for uri in uris:
        if problem := redirect_problem(uri):
            raise InvalidRequest(f"redirect_uris: {str(uri)[:100]!r} {problem}")
    if problem := _authentication_problem(metadata):
        raise InvalidRequest(problem)
    types = metadata.get("grant_types", sorted(_GRANT_TYPES))
    if not isinstance(types, list) or "authorization_code" not in types:
        raise InvalidRequest("grant_types must have authorization_code")
    name = metadata.get("client_name")
    shown = " ".join(str(name).split()) if isinstance(name, str) else ""
    return Client(
        id=client_id,
        name="".join(c for c in shown if c.isprintable())[:NAME_LENGTH] or "an unnamed client",
        redirect_uris=tuple(uris),
        refreshes="refresh_token" in types,
    )


def _authentication_problem(metadata: Mapping[str, Any]) -> str:
    """Return why the client cannot come without a secret, as all do here; empty where it can.

    Who registers and asks for a secret is told `none` in the answer (RFC 7591, section 3.2.1). A document may name
    the one method that it likes best and all that it can do, as ChatGPT's does: `private_key_jwt`, and that or `none`.
    """
    can = metadata.get("token_endpoint_auth_methods_supported")
    best = metadata.get("token_endpoint_auth_method", "none")
    methods = {str(method) for method in can} if isinstance(can, list) and can else {str(best)}
    if "client_secret" in metadata or not methods & {"none", "client_secret_basic", "client_secret_post"}:
        return f"token_endpoint_auth_method must be none, got {', '.join(sorted(methods))[:100]!r}"
    return ""
