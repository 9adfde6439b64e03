"""The authorization flow in one browser: the client's request, the log-in, the consent, and the authorization code.

The status of an authorization request is first `started`, then `logging_in`, `logged_in` and `decided`. A transaction
locks the row of the request, and advances the status by at most one step. A failed log-in sets it back to `started`.
If a step is repeated or interrupted, the flow continues from the stored status, or the person starts over.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from authlib.oauth2.rfc6749 import OAuth2Error

from mnemosyne.domain.oauth import Client, Consent, Grant, PendingAuthorization, PeopleRule, Person, addresses_of
from mnemosyne.domain.principal import Scope, hash_secret, scopes_of
from mnemosyne.domain.rate_limit import networks_of
from mnemosyne.domain.redirect_uris import is_on_device
from mnemosyne.errors import Conflict, NotFound, Unauthorized
from mnemosyne.oauth.clients import Clients
from mnemosyne.oauth.errors import client_error
from mnemosyne.oauth.grants import OAuthClient, Revocation
from mnemosyne.oauth.people import person_of
from mnemosyne.oauth.request import OAuthRequest
from mnemosyne.oauth.server import Answer, Issuer, Server, error_redirection, redirection
from mnemosyne.observability import EventLog
from mnemosyne.ports.identity import LogIn

if TYPE_CHECKING:
    from mnemosyne.adapters.database.oauth import OAuthRows, OAuthStore

log = EventLog(__name__)

ATTEMPTS = 5
"""Maximum wrong log-in codes per authorization request."""
AGAIN = "start over from your application, or at /account"
START_OVER = f"this log-in has ended or is another browser's: {AGAIN}"


@dataclass(frozen=True)
class ConsentPage:
    """The values that the consent page shows."""

    client: Client
    person: Person
    scopes: frozenset[Scope]
    redirect_uri: str
    resource: str
    agreed: bool
    """Whether the person has consented to these scopes before. Then the consent page is skipped."""


class Flow:
    """The steps of a browser from /authorize to the client's redirect URI.

    `key` combines the browser's cookie and the id of the authorization request.
    """

    def __init__(
        self, issuer: Issuer, store: "OAuthStore", clients: Clients, log_in: LogIn, rules: Sequence[PeopleRule]
    ) -> None:
        self.issuer = issuer
        self._store = store
        self._clients = clients
        self._log_in = log_in
        self._rules = rules

    def start(self, request: OAuthRequest, key: str, client: Client | None, address: str) -> str:
        """Store a request to /authorize and return the log-in URL.

        `address` is the browser's address, for the limit of pending requests. Raises OAuth2Error, InvalidRequest and
        Unavailable.
        """
        with self._store.transaction() as rows:
            client = Server(self.issuer, rows, client).examine(request)
            if rows.is_client_blocked(client.id):
                log.warning("audit", action="authorize", outcome="refused", client=client.id, reason="blocked")
                raise Unauthorized("this application is blocked: ask the operator of this memory")
            rows.delete_expired()
        return self._begin(key, request.stored_parameters, client, address)

    def start_account(self, key: str, address: str) -> str:
        """Begin a log-in for the account page and return the log-in URL."""
        return self._begin(key, {}, None, address)

    def log_in(self, key: str, new_key: str, parameters: Mapping[str, str]) -> bool:
        """Finish the log-in. Return whether it is for an OAuth client (True) or for the account page (False).

        `new_key` replaces `key`, so that a planted or stolen cookie from before the log-in is useless. Raises
        Unauthorized, NotFound if the authorization request does not exist, and Conflict if this request is not waiting
        for a log-in.
        """
        client_waits = self._begin_log_in(key, parameters)
        try:
            # Call the identity provider outside a transaction, so that the call holds no database connection or lock.
            claims = self._log_in.finish(key, parameters)
            person = person_of(claims, self._rules)
            with self._pending(key) as (rows, _):
                if rows.is_blocked(person.subject, addresses_of(claims)):
                    log.warning("audit", action="log_in", outcome="refused", subject=person.subject, reason="blocked")
                    raise Unauthorized("this account is blocked: ask the operator of this memory")
                rows.log_in(hash_secret(key), hash_secret(new_key), person)
        except BaseException:
            with self._store.transaction() as rows:
                rows.set_status(hash_secret(key), "started")
            raise
        log.info("audit", action="log_in", outcome="done", subject=person.subject)
        return client_waits

    def refusal_redirect(self, key: str) -> str:
        """Return the URL that tells the client that the log-in failed; empty for the account page. Raises NotFound."""
        with self._pending(key) as (rows, pending):
            if not pending.parameters:
                return ""
            return (
                Server(self.issuer, rows, pending.client).answer(_stored_request(pending, self.issuer), None).location
            )

    def logged_in(self, key: str) -> bool | None:
        """Whether a log-in is for an OAuth client (else for the account page); None if unfinished. Raises NotFound."""
        with self._pending(key) as (_, pending):
            return bool(pending.parameters) if pending.status in ("logged_in", "decided") else None

    def _begin_log_in(self, key: str, parameters: Mapping[str, str]) -> bool:
        """Check the log-in code that the person typed, if one is required, and set the log-in's status to logging_in.

        This status ensures that each code of the identity provider is exchanged only once. Returns whether an OAuth
        client waits for the log-in.
        """
        is_wrong = False
        with self._pending(key) as (rows, pending):
            if pending.status != "started":
                raise Conflict(START_OVER)
            if pending.log_in_hash is not None:
                is_wrong = not hmac.compare_digest(
                    hash_secret(_normalize(parameters.get("code", ""))), pending.log_in_hash
                )
                if pending.attempts >= ATTEMPTS:
                    raise Conflict(f"too many wrong codes: {AGAIN}")
            if is_wrong:
                rows.count_attempt(hash_secret(key))
            else:
                rows.set_status(hash_secret(key), "logging_in")
        if is_wrong:
            raise Unauthorized("this is not the code: check it and try again")
        return bool(pending.parameters)

    def consent_page(self, key: str) -> ConsentPage:
        """Return the values that the consent page shows.

        Raises NotFound, OAuth2Error, and Conflict if the person has not logged in yet or has already decided.
        """
        with self._pending(key) as (rows, pending):
            person, client = _logged_in_person(pending), pending.client
            request = _stored_request(pending, self.issuer)
            server = Server(self.issuer, rows, client)
            server.examine(request)
            redirect_uri = pending.parameters["redirect_uri"]
            resource = server.resource.of(request)
            consent = rows.consent(person.subject, request.payload.client_id, resource)
        client_scopes = scopes_of((OAuthClient(client).get_allowed_scope(request.payload.scope) or "").split())  # type: ignore[arg-type]
        scopes = client_scopes & person.scopes
        agreed = consent is not None and bool(scopes) and scopes <= consent.scopes and not is_on_device(redirect_uri)
        return ConsentPage(client, person, scopes, redirect_uri, resource, agreed)  # type: ignore[arg-type]

    def decide(self, key: str, *, approved: bool) -> Answer:
        """Store the person's decision, and return the redirection to the client.

        Only the first of several decisions counts. Raises NotFound and Conflict.
        """
        with self._pending(key) as (rows, pending):
            if pending.status == "decided":
                return self._repeat_answer(rows, pending, key)
            person, client = _logged_in_person(pending), pending.client
            request = _stored_request(pending, self.issuer)
            rows.set_status(hash_secret(key), "decided")
            server = Server(self.issuer, rows, client)
            server.code = _derive_code(key)
            answer = server.answer(request, person if approved else None)
            if client and answer.has_code:
                resource = server.resource.of(request)
                scopes = scopes_of((request.scope or "").split()) & person.scopes
                rows.save_consent(
                    Consent(subject=person.subject, client_id=client.id, scopes=scopes, resource=resource)
                )
        return answer

    def redirection(self, key: str) -> Answer | None:
        """Return the redirection to the client if the person has decided; else None. Raises NotFound."""
        with self._pending(key) as (rows, pending):
            return self._repeat_answer(rows, pending, key) if pending.status == "decided" else None

    def _repeat_answer(self, rows: "OAuthRows", pending: PendingAuthorization, key: str) -> Answer:
        """Return the redirection to the client again, with the same authorization code or error.

        If the code is used or expired, return status 200 without a redirection. Otherwise the client would send a used
        code a second time, which would revoke the grant.
        """
        request = _stored_request(pending, self.issuer)
        if (code := rows.code(hash_secret(_derive_code(key)))) is None:
            return Server(self.issuer, rows, pending.client).answer(request, None)
        if code.used or not code.valid:
            return Answer(200, None, {})
        return redirection(self.issuer, request, code.redirect_uri, [("code", _derive_code(key))])

    def log_out(self, key: str) -> None:
        """Delete the log-in of this browser."""
        with self._store.transaction() as rows:
            rows.delete_request(hash_secret(key))

    def account(self, key: str) -> tuple[Person, Sequence[Grant]]:
        """Return the person who logged in to the account page, and the person's grants. Raises NotFound, Conflict."""
        with self._pending(key) as (rows, pending):
            person = _logged_in_person(pending)
            return person, rows.grants_of(person.subject)

    def withdraw(self, key: str, client_id: str) -> int:
        """Revoke all grants that the person has given to a client, and delete the stored consent.

        Returns the number of revoked grants. Raises NotFound and Conflict.
        """
        with self._pending(key) as (rows, pending):
            person = _logged_in_person(pending)
            count = rows.withdraw(person.subject, client_id)
        log.info("audit", action="withdraw", outcome="done", subject=person.subject, client=client_id, grants=count)
        return count

    def token(self, request: OAuthRequest) -> Answer:
        """Exchange a code or refresh token for tokens, and return the tokens or an error."""
        return self._serve(request, lambda server: server.create_token_response(request))

    def revoke(self, request: OAuthRequest) -> Answer:
        """Revoke a token."""
        name = Revocation.ENDPOINT_NAME
        return self._serve(request, lambda server: server.create_endpoint_response(name, request), needs_client=False)

    def error_redirect(self, request: OAuthRequest, error: OAuth2Error) -> str:
        """Return the URL that tells the client about an error; empty if the client's redirect URI is not valid."""
        return error_redirection(self.issuer, request, error).location

    def _serve(self, request: OAuthRequest, call: Callable[[Server], Answer], *, needs_client: bool = True) -> Answer:
        client = self._clients.find_stored(request.payload.client_id or "")
        with self._store.transaction() as rows:
            server = Server(self.issuer, rows, client)
            if client is None and (needs_client or request.payload.client_id):
                answer: Answer = server.handle_error_response(request, client_error(request))
                return answer
            return call(server)

    def _begin(self, key: str, parameters: Mapping[str, str], client: Client | None, address: str) -> str:
        # Call the identity provider outside a transaction, so that the call holds no database connection or lock.
        url, code = self._log_in.begin(key, client.name if client else "this page")
        with self._store.transaction() as rows:
            rows.begin(hash_secret(key), parameters, client, networks_of(address))
            if code:
                rows.expect_log_in(hash_secret(key), hash_secret(_normalize(code)))
        return url

    @contextmanager
    def _pending(self, key: str) -> Iterator[tuple["OAuthRows", PendingAuthorization]]:
        with self._store.transaction() as rows:
            if (pending := rows.pending(hash_secret(key))) is None:
                raise NotFound(START_OVER)
            yield rows, pending


def _logged_in_person(pending: PendingAuthorization) -> Person:
    if pending.status != "logged_in" or pending.person is None:
        raise Conflict(START_OVER)
    return pending.person


def _stored_request(pending: PendingAuthorization, issuer: Issuer) -> OAuthRequest:
    return OAuthRequest("GET", f"{issuer.url}/authorize", pending.parameters.items())


def _derive_code(key: str) -> str:
    """Derive the authorization code from the browser's secret, so that the database cannot reveal it."""
    return hmac.new(key.encode(), b"code", hashlib.sha256).hexdigest()


def _normalize(code: str) -> str:
    return "".join(code.upper().split()).replace("-", "")
