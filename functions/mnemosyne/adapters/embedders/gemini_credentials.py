"""Google's default credentials, with a limit for the time in which a token is fetched."""

import time
from functools import partial
from typing import Any, Final

import google.auth
from google.auth.credentials import Credentials
from google.auth.exceptions import GoogleAuthError, TransportError

TOKEN_SECONDS: Final = 5.0
"""Timeout of a request for a token, in seconds. google-auth would wait for 120 seconds. For the metadata server of
Google Cloud, google-auth sets a shorter timeout."""
PAUSE_SECONDS: Final = 10.0
"""Time in seconds after a failure in which no token is requested. google-genai fetches the token under a lock. Without
this pause, one waiting thread after the other would wait for a timeout."""
_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)


class TimeLimitedCredentials(Credentials):
    """The default credentials. They are looked up at the first use."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._source: Any = None
        self._failure = ""
        self._retry_at = 0.0

    def refresh(self, request: Any) -> None:
        """Fetch a token. Raises the last error again if the service did not answer just before."""
        if self._failure and time.monotonic() < self._retry_at:
            raise TransportError(self._failure)
        try:
            if self._source is None:
                self._source, _ = google.auth.default(scopes=_SCOPES)
            self._source.refresh(partial(request, timeout=TOKEN_SECONDS))
        except GoogleAuthError as exc:
            if isinstance(exc, TransportError) or isinstance(exc.__cause__, TransportError):
                # Keep the message only: the exception would keep the connection open.
                self._failure, self._retry_at = str(exc), time.monotonic() + PAUSE_SECONDS
            raise
        self._failure = ""
        self.token, self.expiry = self._source.token, self._source.expiry
        self._quota_project_id = self._source.quota_project_id
