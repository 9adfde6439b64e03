"""A Cloud SQL instance: its Admin API, and the TLS 1.3 proxy on port 3307 in front of a real PostgreSQL."""

import itertools
import os
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.fakes_wire.http import JsonServer
from tests.fakes_wire.metadata import TOKEN

PORT = 3307  # the Connector's fixed port
REGION = "europe-west1"
INSTANCE = f"test-project:{REGION}:mnemosyne"
PEM = serialization.Encoding.PEM
_counter = itertools.count()

Fault = Callable[["CloudSqlInstance", str], tuple[int, Any] | None]


class _Authority:
    """Certificate authority that signs the server's certificate, and client certificates for the requested time."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        basic = x509.BasicConstraints(ca=True, path_length=None)
        self.certificate = (
            self._builder(self._name, self._key.public_key(), timedelta(days=1))
            .add_extension(basic, critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def _builder(self, subject: x509.Name, key: Any, lifetime: timedelta) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + lifetime)
        )

    def sign(self, name: str, key: Any, lifetime: timedelta = timedelta(hours=1)) -> bytes:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return self._builder(subject, key, lifetime).sign(self._key, hashes.SHA256()).public_bytes(PEM)


class CloudSqlInstance(JsonServer):
    """The two calls of the Admin API that the Connector makes (connectSettings, generateEphemeralCert), and the proxy.

    If `fault` is set, it is called for each API call, and its result is the answer unless it is None. While `mute` is
    true, the proxy accepts connections, but does not answer the TLS handshake. For each element of `refusals`, the
    proxy refuses one log-in.
    """

    def __init__(self, socket_file: Path, directory: Path) -> None:
        super().__init__()
        # The Connector's port is fixed, so each instance of each test process has its own loopback address.
        process = os.getpid()
        self.address = f"127.{1 + next(_counter) % 250}.{process >> 8 & 255}.{process & 255}"
        self.region = REGION
        self.fault: Fault | None = None
        self.mute = False
        self.refusals: deque[tuple[str, str]] = deque()
        """The SQLSTATE and the message with which the next log-ins are refused. Each element refuses one log-in."""
        self.log_ins = 0
        self.ahead = timedelta()
        """Time by which the clocks of the clients are ahead of this process's clock."""
        self.calls: list[str] = []
        self.refuse_certificates_before: datetime | None = None
        self._socket_file = socket_file
        self._authority = _Authority()
        self._tls = self._context(directory)
        self._listener = socket.create_server((self.address, PORT))

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        self.calls.append(path)
        if self.fault is not None and (faulty := self.fault(self, path)) is not None:
            return faulty
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return 401, {"error": {"message": "no such token"}}
        if path.endswith("/connectSettings"):
            return 200, {
                "region": self.region,
                "databaseVersion": "POSTGRES_16",
                "ipAddresses": [{"type": "PRIVATE", "ipAddress": self.address}],
                "serverCaCert": {"cert": self._authority.certificate.public_bytes(PEM).decode()},
            }
        if path.endswith(":generateEphemeralCert"):
            key = serialization.load_pem_public_key(body["public_key"].encode())
            return 200, {
                "ephemeralCert": {"cert": self._authority.sign("client", key, self.ahead + timedelta(hours=1)).decode()}
            }
        return 404, {"error": {"message": "not found"}}

    def _context(self, directory: Path) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        private = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        (directory / "server.pem").write_bytes(
            self._authority.sign("server", key.public_key(), timedelta(days=1)) + private
        )
        (directory / "ca.pem").write_bytes(self._authority.certificate.public_bytes(PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(directory / "server.pem")
        context.load_verify_locations(directory / "ca.pem")
        return context

    @contextmanager
    def serving(self) -> Iterator["CloudSqlInstance"]:
        """Serve the API and the proxy until the context ends."""
        threading.Thread(target=self._accept, daemon=True).start()
        with super().serving():
            try:
                yield self
            finally:
                self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connected, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connected,), daemon=True).start()

    def _serve(self, connected: socket.socket) -> None:
        if self.mute:
            self.released.wait(60)
            connected.close()
            return
        with suppress(OSError), self._tls.wrap_socket(connected, server_side=True) as client:
            if self._expired(client):
                return
            self.log_ins += 1
            if self.refusals:
                _refuse(client, *self.refusals.popleft())
                return
            with socket.socket(socket.AF_UNIX) as server:
                server.connect(str(self._socket_file))
                _relay(client, server)

    def _expired(self, client: ssl.SSLSocket) -> bool:
        certificate = x509.load_der_x509_certificate(client.getpeercert(binary_form=True) or b"")
        before = self.refuse_certificates_before
        return before is not None and certificate.not_valid_before_utc + timedelta(days=1) < before


def _refuse(client: ssl.SSLSocket, sqlstate: str, message: str) -> None:
    """Refuse the connection: answer the driver's start-up message with an ErrorResponse.

    https://www.postgresql.org/docs/current/protocol-message-formats.html
    """
    client.recv(65536)
    fields = {"S": "FATAL", "V": "FATAL", "C": sqlstate, "M": message}
    body = "".join(f"{name}{value}\0" for name, value in fields.items()).encode() + b"\0"
    client.sendall(b"E" + struct.pack("!I", len(body) + 4) + body)


def _relay(client: ssl.SSLSocket, server: socket.socket) -> None:
    """Copy data in both directions until one side closes. One thread does both, as a TLS socket is not thread-safe."""
    import select

    client.settimeout(30)
    while True:
        ready = [client] if client.pending() else select.select([client, server], [], [], 30)[0]
        for handler in ready:
            data = handler.recv(65536)
            if not data:
                return
            (server if handler is client else client).sendall(data)
