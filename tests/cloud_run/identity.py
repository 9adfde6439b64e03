"""Google's identity tokens, and how Cloud Run checks and forwards them.

If a service admits only some callers, Cloud Run checks each token before an instance gets the request: signature,
issuer, expiry, audience and the caller's `roles/run.invoker`. Then it replaces the third segment of the token by
`SIGNATURE_REMOVED_BY_GOOGLE`, so that the instance cannot use the token elsewhere:
https://cloud.google.com/run/docs/troubleshooting#signature-removed
"""

from collections.abc import Collection, Mapping
from typing import Any

import jwt

from tests.cloud_run.headers import Headers
from tests.fakes_wire.issuer import Issuer

SIGNATURE_REMOVED = "SIGNATURE_REMOVED_BY_GOOGLE"
ALL_USERS = "allUsers"
SERVERLESS = "X-Serverless-Authorization"
AUTHORIZATION = "Authorization"


class Google(Issuer):
    """A fake of Google as an OpenID provider, which issues tokens for people and for service accounts."""

    def identity_token(self, email: str, audience: str, **changed: Any) -> str:
        """Return an account's token: https://cloud.google.com/docs/authentication/token-types#id."""
        number = "1234567890"
        who: dict[str, Any] = {"azp": number, "sub": number, "email": email, "email_verified": True}
        return self.token(**(who | {"aud": audience} | changed))


class Refused(Exception):
    """Raised if Cloud Run itself refuses a caller. It has the HTTP status of the response."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def admit(
    headers: Headers, google: Google, audiences: Collection[str], invokers: Collection[str], *, strip: bool = True
) -> None:
    """Check the caller, and remove the token's signature from `headers`. Raises Refused.

    Cloud Run removes the signature of some tokens in `Authorization`, and leaves it in others. `strip` says whether it
    is removed here.

    If `X-Serverless-Authorization` is present, only it is checked, and `Authorization` is forwarded unchanged:
    https://cloud.google.com/run/docs/authenticating/service-to-service#acquire-token. For a service that all users may
    invoke, `Authorization` is forwarded unchanged.
    """
    named = SERVERLESS if SERVERLESS in headers else AUTHORIZATION
    if named == AUTHORIZATION and ALL_USERS in invokers:
        return
    scheme, _, token = headers.get(named, "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Refused(403, "The request was not authenticated.")
    email = _claims(token, google, audiences).get("email")
    if ALL_USERS not in invokers and email not in invokers:
        raise Refused(403, "The IAM principal lacks run.routes.invoke.")
    if strip or named == SERVERLESS:
        headers[named] = f"Bearer {without_signature(token)}"


def without_signature(token: str) -> str:
    """Return the token as Cloud Run forwards it."""
    return ".".join([*token.split(".")[:2], SIGNATURE_REMOVED])


def _claims(token: str, google: Google, audiences: Collection[str]) -> Mapping[str, Any]:
    try:
        key = google.keys[jwt.get_unverified_header(token)["kid"]].public_key()
        claims: dict[str, Any] = jwt.decode(
            token, key, algorithms=["RS256"], audience=list(audiences), issuer=google.url, leeway=google.clock_leeway
        )
    except (jwt.PyJWTError, KeyError) as exc:
        raise Refused(401, "The access token could not be verified.") from exc
    return claims
