"""Identify callers other than the users of the tools: Pub/Sub subscriptions, uptime checks, the local delivery and
operators.

Errors never say which part of a credential is wrong.
"""

import hmac
from collections.abc import Collection

from mnemosyne.errors import Unauthorized
from mnemosyne.ports.identity import TokenVerifier
from mnemosyne.service.api_keys import hash_secret
from mnemosyne.service.authenticate import bearer, is_usable

GCLOUD_AUDIENCE = "32555940559.apps.googleusercontent.com"
"""Audience of the tokens that `gcloud auth print-identity-token` prints. This is the client id of gcloud, which is the
same for all accounts."""


class PushIdentity:
    """Authenticates calls by Pub/Sub subscriptions and uptime checks of this deployment, by the Google tokens of their
    accounts."""

    def __init__(self, verifier: TokenVerifier, emails: Collection[str]) -> None:
        self._verifier = verifier
        self._emails = emails

    def check(self, authorization: str | None) -> None:
        """Raise Unauthorized if the token belongs to none of the accounts, and Unavailable if it cannot be checked."""
        claims = self._verifier.verify(bearer(authorization))
        email = claims.get("email")
        if email not in self._emails or claims.get("email_verified") is not True:
            detail = f"received the account {str(email)[:100]}, expected {' or '.join(sorted(self._emails))}"
            raise Unauthorized("the push is not our subscription's", detail=detail)


class OperatorIdentity:
    """Identifies operators by the identity token of their gcloud account."""

    def __init__(self, verifier: TokenVerifier) -> None:
        self._verifier = verifier

    def caller(self, token: str) -> str:
        """Return the principal of the token. Without a token, return `google:not proven`.

        Some accounts have no identity token, for example the accounts of workload identity federation. Such a caller
        was admitted to the workflow by IAM, and Cloud Audit Logs have the caller's name.

        Raises Unauthorized if the token is not valid, and Unavailable if it cannot be checked.
        """
        if not token:
            return "google:not proven"
        claims = self._verifier.verify(token)
        email = claims.get("email")
        if not is_usable(email) or claims.get("email_verified") is not True:
            raise Unauthorized("the identity token names no verified e-mail")
        return f"google:{email}"


class SharedSecret:
    """Authenticates pushes of the local delivery by a secret that was set at its start."""

    def __init__(self, secret: str) -> None:
        self._hash = hash_secret(secret)

    def check(self, authorization: str | None) -> None:
        """Raise Unauthorized if the push has another secret."""
        if not hmac.compare_digest(hash_secret(bearer(authorization)), self._hash):
            raise Unauthorized("the push is not our delivery's")
