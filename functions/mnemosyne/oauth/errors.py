"""Errors of the authorization server with descriptions that say what to do."""

import re

from authlib.oauth2.rfc6749 import InvalidClientError, InvalidRequestError, OAuth2Error

from mnemosyne.oauth.request import OAuthRequest

UNKNOWN_CLIENT = (
    "this server does not know the application: remove this server from the application, or clear the log-in that it "
    "keeps, and connect again, so that it registers again"
)


class _ClientError(InvalidClientError):  # type: ignore[misc]
    """The error `invalid_client` with status 401 and the header WWW-Authenticate (the challenge)."""

    status_code = 401

    def get_headers(self) -> list[tuple[str, str]]:
        """Add the realm, which Authlib leaves out of the challenge, and which RFC 7617 requires."""
        return [(name, re.sub("^Basic ", 'Basic realm="Mnemosyne", ', value)) for name, value in super().get_headers()]


def client_error(request: OAuthRequest) -> OAuth2Error:
    """Return the error of a request without a known client. An unknown client gets 401, so that it registers again."""
    if request.payload.client_id:
        return _ClientError(UNKNOWN_CLIENT)
    if request.headers:
        problem = "clients have no secret: send client_id in the body, or in a Basic header with an empty password"
        return _ClientError(problem)
    return InvalidRequestError("client_id must be given")


def describe(error: OAuth2Error, parameter: str, expected: str, value: str | None) -> OAuth2Error:
    """Set the description of Authlib's error about a parameter.

    A missing parameter becomes the error `invalid_request`: RFC 6749, sections 4.1.2.1 and 5.2.
    """
    error.description = f"{parameter} must be {expected}, got {value or 'none'}"
    if not value:
        error.error = InvalidRequestError.error
    return error
