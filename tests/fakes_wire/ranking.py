"""Vertex AI's ranking API over gRPC.

The fake has the following properties of the API. The answer has the records in the order of descending score. Scores
are rounded to two decimals, and are never 0. A request may have at most 200 records. A record without title and content
is refused:
https://cloud.google.com/generative-ai-app-builder/docs/reference/rest/v1/projects.locations.rankingConfigs/rank
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any, Self

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google.cloud.discoveryengine_v1.types import RankingRecord, RankRequest, RankResponse

LEAST = 0.0001
PEM = serialization.Encoding.PEM


def self_signed(roots: Path) -> grpc.ServerCredentials:
    """Create credentials for `localhost`, and write the certificate that clients must trust."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
        .public_bytes(PEM)
    )
    roots.write_bytes(certificate)
    private = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    credentials: grpc.ServerCredentials = grpc.ssl_server_credentials([(private, certificate)])
    return credentials


class RankingServer:
    """Score each record with `relevance(query, content)`, or answer with `refusal` if it is set.

    While `silent` is true, the server accepts calls, and answers none of them until the caller has disconnected.
    """

    def __init__(self, relevance: Callable[[str, str], float]) -> None:
        self.requests: list[Any] = []
        self.metadata: list[dict[str, str]] = []
        self.refusal: tuple[grpc.StatusCode, str] | None = None
        self.forgets = 0
        """Number of records that an answer leaves out."""
        self.silent = False
        self.port = 0
        self._relevance = relevance

    @contextmanager
    def serving(self, credentials: grpc.ServerCredentials | None = None) -> Iterator[Self]:
        """Serve on a free port, over TLS with these credentials."""
        server = grpc.server(ThreadPoolExecutor(4))
        rank = grpc.unary_unary_rpc_method_handler(
            self._rank, request_deserializer=RankRequest.deserialize, response_serializer=RankResponse.serialize
        )
        service = "google.cloud.discoveryengine.v1.RankService"
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Rank": rank}),))
        if credentials is None:
            self.port = server.add_insecure_port("127.0.0.1:0")
        else:
            self.port = server.add_secure_port("127.0.0.1:0", credentials)
        server.start()
        try:
            yield self
        finally:
            server.stop(None).wait()

    def _rank(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))
        if self.silent:
            gone = Event()
            context.add_callback(gone.set)
            gone.wait(60)
        if self.refusal:
            context.abort(*self.refusal)
        if len(request.records) > 200:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "At most 200 records are allowed.")
        if any(not record.title and not record.content for record in request.records):
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "Title and content cannot both be empty.")
        ranked = sorted((self._scored(request, record) for record in request.records), key=lambda record: -record.score)
        return RankResponse(records=ranked[: len(ranked) - self.forgets])

    def _scored(self, request: Any, record: Any) -> Any:
        score = round(self._relevance(request.query, record.content), 2) or LEAST
        if request.ignore_record_details_in_response:
            return RankingRecord(id=record.id, score=score)
        return RankingRecord(id=record.id, score=score, title=record.title, content=record.content)
