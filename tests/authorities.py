"""TLS contexts without the certificates of public authorities."""

import os
import ssl
from typing import Any

import certifi
import pytest


def leave_out(patch: pytest.MonkeyPatch) -> None:
    """Let the TLS contexts of this process trust no public authority.

    Authorities that a test names are loaded as usual.

    No server of the tests has a certificate of a public authority. Reading the certificates of the public authorities
    takes 40 ms of CPU time. Each HTTP client reads them, also for http; the client of Gemini reads them three times.
    """
    public = {certifi.where(), os.environ.get("SSL_CERT_FILE")}
    load = ssl.SSLContext.load_verify_locations

    def load_others(self: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
        if cadata is not None or (cafile is not None and str(cafile) not in public):
            load(self, cafile, capath, cadata)

    patch.setattr(ssl.SSLContext, "load_verify_locations", load_others)
    patch.setattr(ssl.SSLContext, "set_default_verify_paths", lambda self: None)
