"""Ignore offers to switch to HTTP/2: serve a request with such an offer over HTTP/1.1.

Java's HttpClient sends these offers.

Uvicorn with the parser httptools treats a request with `Upgrade: h2c` as a request without a body:
https://github.com/encode/uvicorn/discussions/2722. Uvicorn's other parser, h11, ignores the offer, as RFC 9110, section
7.8, allows. Therefore a connection with an offer is passed to h11.
"""

import re
from typing import Any

HEAD_BYTES = 64 * 1024
"""Maximum number of bytes of a request head that is searched for an offer. The server rejects longer heads."""
_HEAD_END = re.compile(rb"\n\r?\n")
_OFFER = re.compile(rb"^upgrade:[ \t]*h2c[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


def ignore_offers_of_http2() -> None:
    """Make Uvicorn servers that start after this call ignore offers of HTTP/2.

    Only servers that parse with httptools need this.
    """
    from uvicorn.protocols.http import auto

    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:  # without httptools, Uvicorn parses with h11, which ignores offers
        return
    if auto.AutoHTTPProtocol is HttpToolsProtocol:
        auto.AutoHTTPProtocol = _build_protocol_class(HttpToolsProtocol)


def _build_protocol_class(base: Any) -> Any:
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(base):  # type: ignore[misc]
        """Parses with httptools, and passes a connection to h11 at the first request with an offer."""

        incomplete_head = b""
        """Received part of an incomplete request head."""

        def data_received(self, data: bytes) -> None:
            if self.cycle is not None and (self.cycle.more_body or not self.cycle.response_complete):
                super().data_received(data)
                return
            data, self.incomplete_head = self.incomplete_head + data, b""
            end = _HEAD_END.search(data)
            # Wait for the rest of a request head only if the data looks like the beginning of a request. The parser
            # refuses all other data, such as a TLS handshake, at once.
            if not end and len(data) < HEAD_BYTES and data[:1].isupper():
                self.incomplete_head = data
            elif _OFFER.search(data, 0, end.start() if end else len(data)):
                self._unset_keepalive_if_required()
                self.connections.discard(self)
                h11 = H11Protocol(config=self.config, server_state=self.server_state, app_state=self.app_state)
                h11.connection_made(self.transport)
                self.transport.set_protocol(h11)
                h11.data_received(data)
            else:
                super().data_received(data)

    return Protocol
