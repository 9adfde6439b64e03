"""From a client's request to its code: log-in and consent, bound to one browser from the first step to the last.

Every step is a transaction that reads the request's row locked and moves it on once: started, logged in, decided. Who
comes again, from another browser or after an end in between, can only go on where the row stands, or start over.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from authlib.common.urls import add_params_to_uri
from authlib.oauth2.rfc6749 import InvalidClientError, OAuth2Error

from mnemosyne.domain.oauth import Client, Consent, Grant, Pending, PeopleRule, Person, addresses_of, is_on_device
from mnemosyne.domain.principal import Scope, scopes_of
from mnemosyne.domain.rate_limit import networks_of
from mnemosyne.errors import Conflict, NotFound, Unauthorized
from mnemosyne.oauth.clients import Clients
from mnemosyne.oauth.grants import OAuthClient, hashed
from mnemosyne.oauth.people import person_of
from mnemosyne.oauth.request import OAuthRequest
from mnemosyne.oauth.server import Answer, Issuer, Server
from mnemosyne.observability import EventLog
from mnemosyne.ports.identity import LogIn
from mnemosyne.ports.oauth import OAuthRows, OAuthStore

log = EventLog(__name__)

ATTEMPTS = 5
"""How often a log-in code may be mistyped."""
UNKNOWN_CLIENT = (
    "this server does not know the application: remove this server from the application, or clear the log-in that it "
    "keeps, and connect again, so that it registers again"
)
START_OVER = "this log-in has ended or is another browser's: start over from your application"


@dataclass(frozen=True)
class Question:
    """What a person is asked to agree to."""

    client: Client
    person: Person
    scopes: frozenset[Scope]
    redirect_uri: str
    resource: str
    agreed: bool
    """Whether they have agreed to as much before, so that they need not be asked."""


class Flow:
    """Leads a browser from /authorize to the client's redirect URI; `key` is what browser and request share."""

    def __init__(
        self, issuer: Issuer, store: OAuthStore, clients: Clients, log_in: LogIn, rules: Sequence[PeopleRule]
    ) -> None:
        self.issuer = issuer
        self._store = store
        self._clients = clients
        self._log_in = log_in
        self._rules = rules

    def start(self, request: OAuthRequest, key: str, client: Client | None, address: str) -> str:
        """Return where the browser at `address` goes to log in; raises OAuth2Error, InvalidRequest, Unavailable."""
        with self._store.transaction() as rows:
            client = Server(self.issuer, rows, client).examine(request)
            rows.forget_expired()
            client = replace(client, redirect_uris=(request.payload.redirect_uri,))
            return self._begin(rows, key, request.kept, client, address)

    def start_account(self, key: str, address: str) -> str:
        """Return where the browser at `address` goes to log in for the page of what its person has granted."""
        with self._store.transaction() as rows:
            return self._begin(rows, key, {}, None, address)

    def log_in(self, key: str, new_key: str, shown: Mapping[str, str]) -> bool:
        """Note who has come back from the log-in; whether a client waits for it.

        From now on only `new_key` leads on: whoever planted the old one in this browser, or saw it, has nothing. Raises
        Unauthorized, NotFound where there is no such log-in, and Conflict where it is over.
        """
        client_waits = self._begin_log_in(key, shown)
        try:
            # No connection and no lock is held while the identity provider is asked.
            claims = self._log_in.finish(key, shown)
            person = person_of(claims, self._rules)
            with self._pending(key) as (rows, _):
                if rows.is_blocked(person.subject, addresses_of(claims)):
                    log.warning("audit", action="log_in", outcome="refused", subject=person.subject, reason="blocked")
                    raise Unauthorized("this account is blocked: ask the operator of this memory")
                rows.log_in(hashed(key), hashed(new_key), person)
        except BaseException:
            with self._store.transaction() as rows:
                rows.set_status(hashed(key), "started")
            raise
        log.info("audit", action="log_in", outcome="done", subject=person.subject)
        return client_waits

    def logged_in(self, key: str) -> bool | None:
        """Return whether a client waits for a log-in that is done; None if it is not done. Raises NotFound."""
        with self._pending(key) as (_, pending):
            return bool(pending.parameters) if pending.status in ("logged_in", "decided") else None

    def _begin_log_in(self, key: str, shown: Mapping[str, str]) -> bool:
        """Note that the identity provider is asked, so that its code is exchanged once; whether a client waits."""
        wrong = False
        with self._pending(key) as (rows, pending):
            if pending.status != "started":
                raise Conflict(START_OVER)
            if pending.log_in_hash is not None:
                wrong = not hmac.compare_digest(hashed(_typed(shown.get("code", ""))), pending.log_in_hash)
                if pending.attempts >= ATTEMPTS:
                    raise Conflict("the code was mistyped too often: start over from your application")
            if wrong:
                rows.count_attempt(hashed(key))
            else:
                rows.set_status(hashed(key), "logging_in")
        if wrong:
            raise Unauthorized("this is not the code: look at it again")
        return bool(pending.parameters)

    def redirect_uri(self, key: str) -> str:
        """Return where the browser may go in the end; empty where no client waits. Raises NotFound."""
        with self._pending(key) as (_, pending):
            return str(pending.parameters.get("redirect_uri", ""))

    def question(self, key: str) -> Question:
        """Return what the person is asked; raises NotFound, Conflict where it is answered, OAuth2Error."""
        with self._pending(key) as (rows, pending):
            person, client = _person(pending), pending.client
            request = _request(pending, self.issuer)
            server = Server(self.issuer, rows, client)
            server.examine(request)
            redirect_uri = pending.parameters["redirect_uri"]
            resource = server.resource.of(request)
            agreed = rows.consent(person.subject, request.payload.client_id, resource)
        wanted = scopes_of((OAuthClient(client).get_allowed_scope(request.payload.scope) or "").split())  # type: ignore[arg-type]
        scopes = wanted & person.scopes
        known = agreed is not None and scopes <= agreed.scopes and not is_on_device(redirect_uri)
        return Question(client, person, scopes, redirect_uri, resource, known and bool(scopes))  # type: ignore[arg-type]

    def decide(self, key: str, *, approved: bool) -> Answer:
        """Return the redirection to the client; of several answers the first counts. Raises NotFound, Conflict."""
        with self._pending(key) as (rows, pending):
            if pending.status == "decided":
                return self._same_answer(rows, pending, key)
            person, client = _person(pending), pending.client
            request = _request(pending, self.issuer)
            rows.set_status(hashed(key), "decided")
            server = Server(self.issuer, rows, client)
            server.code = _code(key)
            answer = server.answer(request, person if approved else None)
            if approved and client and "code=" in urlsplit(answer.location).query:
                resource = server.resource.of(request)
                scopes = scopes_of((request.scope or "").split()) & person.scopes
                rows.remember(Consent(subject=person.subject, client_id=client.id, scopes=scopes, resource=resource))
        return answer

    def decided(self, key: str) -> Answer | None:
        """Return the answer that the person has given; None if they have not answered. Raises NotFound."""
        with self._pending(key) as (rows, pending):
            return self._same_answer(rows, pending, key) if pending.status == "decided" else None

    def _same_answer(self, rows: OAuthRows, pending: Pending, key: str) -> Answer:
        """Return the redirection to the client again; without a location if the client has used its code.

        A second use of the code would end the grant.
        """
        request = _request(pending, self.issuer)
        if (code := rows.code(hashed(_code(key)))) is None:
            return Server(self.issuer, rows, pending.client).answer(request, None)
        if code.used or not code.valid:
            return Answer(200, None, {})
        state = [("state", request.payload.state)] if request.payload.state else []
        answered = [("code", _code(key)), *state, ("iss", self.issuer.url)]
        return Answer(303, None, {"Location": add_params_to_uri(code.redirect_uri, answered)})

    def log_out(self, key: str) -> None:
        """Forget the log-in of this browser."""
        with self._store.transaction() as rows:
            rows.end(hashed(key))

    def account(self, key: str) -> tuple[Person, Sequence[Grant]]:
        """Return who has logged in for the page of their grants, and those; raises NotFound, Conflict."""
        with self._pending(key) as (rows, pending):
            person = _person(pending)
            return person, rows.grants_of(person.subject)

    def withdraw(self, key: str, client_id: str) -> int:
        """End all that the person has let a client do; how many grants that were. Raises NotFound, Conflict."""
        with self._pending(key) as (rows, pending):
            person = _person(pending)
            ended = rows.withdraw(person.subject, client_id)
        log.info("audit", action="withdraw", outcome="done", subject=person.subject, client=client_id, grants=ended)
        return ended

    def token(self, request: OAuthRequest) -> Answer:
        """Return tokens for a code or a refresh token, or why there are none."""
        return self._ask(request, lambda server: server.token(request))

    def revoke(self, request: OAuthRequest) -> Answer:
        """Return that a token is of no use any more."""
        return self._ask(request, lambda server: server.revoke(request))

    def redirected(self, request: OAuthRequest, error: OAuth2Error) -> str:
        """Return where the client is told of an error; empty where its address is not sure, and the person is told."""
        if not error.redirect_uri:
            return ""
        error.state = request.payload.state
        location = str(dict(error()[2]).get("Location", ""))
        return str(add_params_to_uri(location, {"iss": self.issuer.url}))

    def _ask(self, request: OAuthRequest, ask: Callable[[Server], Answer]) -> Answer:
        client = self._clients.known(request.payload.client_id or "")
        with self._store.transaction() as rows:
            server = Server(self.issuer, rows, client)
            if client is None:
                # 401 makes clients register again: RFC 6749, section 5.2.
                problem = UNKNOWN_CLIENT if request.payload.client_id else "client_id must be given"
                unknown = InvalidClientError(problem, status_code=401)
                answer: Answer = server.handle_error_response(request, unknown)
                return answer
            return ask(server)

    def _begin(
        self, rows: OAuthRows, key: str, parameters: Mapping[str, str], client: Client | None, address: str
    ) -> str:
        rows.begin(hashed(key), parameters, client, networks_of(address))
        where, code = self._log_in.begin(key, client.name if client else "this page")
        if code:
            rows.expect_log_in(hashed(key), hashed(_typed(code)))
        return where

    @contextmanager
    def _pending(self, key: str) -> Iterator[tuple[OAuthRows, Pending]]:
        with self._store.transaction() as rows:
            if (pending := rows.pending(hashed(key))) is None:
                raise NotFound(START_OVER)
            yield rows, pending


def _person(pending: Pending) -> Person:
    if pending.status != "logged_in" or pending.person is None:
        raise Conflict(START_OVER)
    return pending.person


def _request(pending: Pending, issuer: Issuer) -> OAuthRequest:
    return OAuthRequest("GET", f"{issuer.url}/authorize", pending.parameters.items())


def _code(key: str) -> str:
    """Return the authorization code of a request: the browser's secret gives it, and the database does not."""
    return hmac.new(key.encode(), b"code", hashlib.sha256).hexdigest()


def _typed(code: str) -> str:
    return "".join(code.upper().split()).replace("-", "")
