"""Identify callers other than the users of the tools: Pub/Sub subscriptions, uptime checks, operators and, on a single
machine, the local queue.

Errors never say which part of a credential is wrong.
"""

import hmac
from collections.abc import Collection

from mnemosyne.domain.principal import hash_secret
from mnemosyne.errors import Unauthorized
from mnemosyne.ports.identity import TokenVerifier
from mnemosyne.service.authenticate import bearer, is_usable

GCLOUD_AUDIENCE = "32555940559.apps.googleusercontent.com"
"""Audience of the tokens that `gcloud auth print-identity-token` prints. This is the client id of gcloud, which is the
same for all accounts."""


def check_push(verifier: TokenVerifier, emails: Collection[str], authorization: str | None) -> None:
    """Check the Google token of a call by a Pub/Sub subscription or an uptime check of this deployment.

    Raises Unauthorized if the account in the token is none of `emails`, and Unavailable if the token cannot be checked.
    """
    claims = verifier.verify(bearer(authorization))
    email = claims.get("email")
    if email not in emails or claims.get("email_verified") is not True:
        detail = f"received the account {str(email)[:100]}, expected {' or '.join(sorted(emails))}"
        raise Unauthorized("the push does not come from the function's subscription", detail=detail)


def check_secret(secret: str, authorization: str | None) -> None:
    """Check the secret that the local queue sends with a push, instead of a token. Raises Unauthorized."""
    if not hmac.compare_digest(hash_secret(bearer(authorization)), hash_secret(secret)):
        raise Unauthorized("the push does not come from the local queue")


def operator_of(verifier: TokenVerifier, token: str) -> str:
    """Return the principal of an operator's gcloud identity token. Without a token, return `google:not proven`.

    Some accounts have no identity token, for example the accounts of workload identity federation. Their operations are
    allowed nevertheless, because IAM has checked that the caller may run the workflow that starts operations. The
    caller's name is in Cloud Audit Logs.

    Raises Unauthorized if the token is not valid, and Unavailable if it cannot be checked.
    """
    if not token:
        return "google:not proven"
    claims = verifier.verify(token)
    email = claims.get("email")
    if not is_usable(email) or claims.get("email_verified") is not True:
        raise Unauthorized("the identity token names no verified e-mail")
    return f"google:{email}"
