"""Google's identity tokens, and what Cloud Run does with one that it has checked.

A service that admits only some callers has the token checked before its instance sees the request: signature, issuer,
expiry, audience and the caller's `roles/run.invoker`. It is then handed on with its third segment replaced by
`SIGNATURE_REMOVED_BY_GOOGLE`, so that the instance cannot use it elsewhere:
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
    """Google as an OpenID provider: tokens of people and of service accounts."""

    def identity_token(self, email: str, audience: str, **changed: Any) -> str:
        """The token of an account for an audience: https://cloud.google.com/docs/authentication/token-types#id."""
        number = "1234567890"
        who: dict[str, Any] = {"azp": number, "sub": number, "email": email, "email_verified": True}
        return self.token(**(who | {"aud": audience} | changed))


class Refused(Exception):
    """Raised where Cloud Run itself refuses the caller, with the status that it answers."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def admit(
    headers: Headers, google: Google, audiences: Collection[str], invokers: Collection[str], *, strip: bool = True
) -> None:
    """Check the caller and remove the token's signature, in place; raises Refused.

    Of some tokens in `Authorization` it is documented, of others somebody saw them arrive whole: `strip` says which.

    `X-Serverless-Authorization` is looked at first, and where it is there `Authorization` is handed on as it came:
    https://cloud.google.com/run/docs/authenticating/service-to-service#acquire-token. A service that admits everybody
    has `Authorization` handed on untouched, whatever it holds.
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
    """The token as Cloud Run hands it on."""
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
