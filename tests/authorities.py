"""Create TLS contexts that do not load the certificates of public certificate authorities, to save time in tests."""

import os
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import certifi


def leave_out(replace: Callable[[object, str, object], None] = setattr) -> None:
    """Let the TLS contexts of this process trust no public authority.

    Authorities that a test names are loaded as usual, also if the test sets SSL_CERT_FILE later.

    No server of the tests has a certificate of a public authority. Reading the certificates of the public authorities
    takes 40 ms of CPU time. Each HTTP client reads them, also for http; the client of Gemini reads them three times.
    """
    public = {certifi.where(), os.environ.get("SSL_CERT_FILE")}
    load = ssl.SSLContext.load_verify_locations

    def load_others(self: ssl.SSLContext, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
        if cadata is not None or (cafile is not None and str(cafile) not in public):
            load(self, cafile, capath, cadata)

    def load_default(self: ssl.SSLContext) -> None:
        with suppress(OSError):  # OpenSSL ignores the file if it cannot be read
            load_others(self, cafile=os.environ.get("SSL_CERT_FILE"))

    replace(ssl.SSLContext, "load_verify_locations", load_others)
    replace(ssl.SSLContext, "set_default_verify_paths", load_default)
