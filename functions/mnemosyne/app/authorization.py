"""Build the authorization server from the settings, with its signer, its log-in and its store."""

from pathlib import Path
from typing import TYPE_CHECKING

from mnemosyne.adapters.client_documents import WebDocuments
from mnemosyne.adapters.database.oauth import OAuthStore
from mnemosyne.app.signing import signer
from mnemosyne.errors import Misconfigured
from mnemosyne.oauth.clients import Clients
from mnemosyne.oauth.flow import Flow
from mnemosyne.oauth.server import Issuer
from mnemosyne.ports.identity import LogIn
from mnemosyne.settings import Settings

if TYPE_CHECKING:
    from mnemosyne.adapters.database.pool import Pool


def flow_and_clients(settings: Settings, pool: "Pool") -> tuple[Flow, Clients]:
    """Build the authorization flow and the OAuth clients. Raises Misconfigured with the names of missing settings."""
    names = ("oauth_issuer", "oauth_resources", "oauth_signing_key", "oauth_people")
    if missing := [f"MNEMOSYNE_{name.upper()}" for name in names if not getattr(settings, name)]:
        raise Misconfigured(f"the auth function needs {', '.join(missing)}")
    url = settings.oauth_issuer
    issuer = Issuer(
        url,
        settings.oauth_resources,
        signer(settings.oauth_signing_key, "oauth_signing_key", settings),
        settings.oauth_access_token_seconds,
    )
    store = OAuthStore(pool)
    clients = Clients(store, WebDocuments())
    return Flow(issuer, store, clients, _build_log_in(settings, url), settings.oauth_people), clients


def _build_log_in(settings: Settings, url: str) -> LogIn:
    if settings.oauth_log_in_codes:
        if settings.k_service:
            raise Misconfigured(
                "MNEMOSYNE_OAUTH_LOG_IN_CODES is for one machine: on Cloud Run, people log in at an identity provider"
            )
        from mnemosyne.adapters.identity.log_in_code import LogInCode

        return LogInCode(Path(settings.oauth_log_in_codes))
    if not settings.oauth_client_id or settings.oauth_client_secret is None:
        raise Misconfigured("the auth function needs MNEMOSYNE_OAUTH_CLIENT_ID and MNEMOSYNE_OAUTH_CLIENT_SECRET")
    from mnemosyne.adapters.identity.upstream import OpenIdLogIn

    secret = settings.oauth_client_secret.get_secret_value()
    return OpenIdLogIn(settings.oauth_upstream_issuer, settings.oauth_client_id, secret, f"{url}/callback")
