"""Log in at an OpenID provider with Authlib: code flow with PKCE, state and nonce.

https://openid.net/specs/openid-connect-core-1_0.html#CodeFlowAuth.
"""

import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import Any

import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session

from mnemosyne.adapters.identity.tokens import OidcVerifier, unreachable
from mnemosyne.errors import Unauthorized
from mnemosyne.observability import EventLog

log = EventLog(__name__)

TIMEOUT_SECONDS = 10
METADATA_SECONDS = 3600.0
SCOPE = "openid email profile"


class OpenIdLogIn:
    """A LogIn at an OpenID provider.

    State, nonce and PKCE verifier are derived from a secret in a cookie of the browser, so they are not stored.
    """

    def __init__(self, issuer: str, client_id: str, client_secret: str, redirect_uri: str) -> None:
        self._issuer = issuer
        self._client_id = client_id
        self._client_secret = client_secret
        self._redirect_uri = redirect_uri
        self._verifier = OidcVerifier(issuer, client_id)
        self._metadata: tuple[float, Mapping[str, Any]] = (float("-inf"), {})

    def begin(self, secret: str, client_name: str) -> tuple[str, str]:
        """Return the URL of the provider's log-in page, and "" for the code, because the person types no code.

        After the log-in, the provider redirects the browser to this server's callback.
        """
        with self._open_session(_state_of(secret)) as session:
            url, _ = session.create_authorization_url(
                self._endpoint_url("authorization_endpoint"),
                state=_state_of(secret),
                nonce=_derive(secret, "nonce"),
                code_verifier=_derive(secret, "verifier"),
                prompt="select_account",
            )
        return str(url), ""

    def finish(self, secret: str, parameters: Mapping[str, str]) -> Mapping[str, Any]:
        if "code" not in parameters or not hmac.compare_digest(
            parameters.get("state", "").encode(), _state_of(secret).encode()
        ):
            raise Unauthorized("the identity provider refused the log-in")
        try:
            with self._open_session(_state_of(secret)) as session:
                session.token_endpoint_auth_method = self._auth_method()
                token = session.fetch_token(
                    self._endpoint_url("token_endpoint"),
                    code=parameters["code"],
                    code_verifier=_derive(secret, "verifier"),
                    timeout=TIMEOUT_SECONDS,
                )
            claims = self._verifier.verify(str(token.get("id_token", "")))
        except OAuthError as exc:
            log.warning(
                "log_in_refused",
                cause="the identity provider refuses the code of a log-in",
                error=str(exc),
                next_step="check oauth_client_id, oauth_client_secret_version and the callback URL at the provider",
            )
            raise Unauthorized("the identity provider refused the log-in") from exc
        except (requests.RequestException, ValueError) as exc:
            raise unreachable(self._issuer, exc) from exc
        # Check the claims azp and nonce, as in steps 5 and 11 of
        # https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation.
        is_ours = claims.get("azp", self._client_id) == self._client_id
        if not is_ours or not hmac.compare_digest(
            str(claims.get("nonce", "")).encode(), _derive(secret, "nonce").encode()
        ):
            raise Unauthorized("the identity provider's token is for another log-in")
        return claims

    def _open_session(self, state: str) -> Any:
        return OAuth2Session(
            self._client_id, self._client_secret, scope=SCOPE, redirect_uri=self._redirect_uri, state=state,
            code_challenge_method="S256",
        )  # fmt: skip

    def _auth_method(self) -> str:
        """Return the method by which the client secret is sent: in a Basic header, or in the request's body.

        The body is used only if the provider supports it and does not support the Basic header.

        A provider that names no methods supports client_secret_basic:
        https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata.
        """
        supported = self._provider_metadata().get("token_endpoint_auth_methods_supported")
        methods = supported if isinstance(supported, list) else []
        only_body = "client_secret_post" in methods and "client_secret_basic" not in methods
        return "client_secret_post" if only_body else "client_secret_basic"

    def _endpoint_url(self, name: str) -> str:
        """Return the URL of an endpoint from the provider's metadata. Raises Unavailable if it is not there."""
        if not isinstance(endpoint := self._provider_metadata().get(name), str):
            raise unreachable(self._issuer, ValueError(f"its metadata has no {name}"))
        return endpoint

    def _provider_metadata(self) -> Mapping[str, Any]:
        """Return the provider's metadata, which are read at most once an hour.

        If the metadata cannot be read again, the earlier metadata are used. Raises Unavailable if there are none.
        """
        read_at, metadata = self._metadata
        if time.monotonic() > read_at + METADATA_SECONDS:
            url = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
            try:
                answer = requests.get(url, timeout=TIMEOUT_SECONDS)
                answer.raise_for_status()
                metadata = answer.json()
                self._metadata = (time.monotonic(), metadata)
            except (requests.RequestException, ValueError) as exc:
                if not metadata:
                    raise unreachable(self._issuer, exc) from exc
        return metadata if isinstance(metadata, Mapping) else {}


def _state_of(secret: str) -> str:
    """Return the OAuth parameter `state`.

    Its value is the id of the authorization request. The browser's secret ends with this id, after a dot.
    """
    return secret.rpartition(".")[2]


def _derive(secret: str, purpose: str) -> str:
    return hmac.new(secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()
