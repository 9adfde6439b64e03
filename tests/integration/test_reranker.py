"""The real client of Vertex AI's ranking API against a local gRPC server: requests and faults."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import grpc
import pytest
from google.auth.exceptions import DefaultCredentialsError
from google.cloud.discoveryengine_v1 import RankServiceClient
from google.cloud.discoveryengine_v1.services.rank_service.transports import RankServiceGrpcTransport

from mnemosyne.adapters import vertex_reranker
from mnemosyne.adapters.vertex_reranker import DEADLINE_SECONDS, VertexReranker
from mnemosyne.app.doctor import check_reranker
from mnemosyne.errors import ServiceError, Unavailable
from tests.fakes_wire.metadata import TOKEN, MetadataServer
from tests.fakes_wire.ranking import RankingServer, self_signed

ROOT = Path(__file__).parents[2]
MODEL = "semantic-ranker-fast-004"


def _words_in_common(query: str, content: str) -> float:
    query_words = set(query.split())
    return len(query_words & set(content.split())) / len(query_words)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Increase the deadline of the reranker, because a test machine with a high load may need more time."""
    monkeypatch.setattr(vertex_reranker, "DEADLINE_SECONDS", 30.0)


@pytest.fixture
def server() -> Iterator[RankingServer]:
    with RankingServer(_words_in_common).serving() as running:
        yield running


def _client(server: RankingServer) -> RankServiceClient:
    channel = grpc.insecure_channel(f"127.0.0.1:{server.port}")
    return RankServiceClient(transport=RankServiceGrpcTransport(channel=channel))


@pytest.fixture
def reranker(server: RankingServer) -> VertexReranker:
    reranker = VertexReranker("test-project", MODEL, lambda: _client(server))
    reranker.check()  # the client is loaded
    return reranker


def test_scores_are_in_the_order_of_the_texts_whatever_the_order_of_the_answer(
    reranker: VertexReranker, server: RankingServer
) -> None:
    assert reranker.score("green tea", ["coffee", "green tea", "tea"]) == pytest.approx([0.0001, 1.0, 0.5])
    request = server.requests[-1]
    assert request.ranking_config == "projects/test-project/locations/global/rankingConfigs/default_ranking_config"
    assert (request.model, request.query, request.ignore_record_details_in_response) == (MODEL, "green tea", True)


def test_a_reranker_that_does_not_answer_is_given_up_at_the_deadline(
    reranker: VertexReranker, server: RankingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vertex_reranker, "DEADLINE_SECONDS", DEADLINE_SECONDS)
    server.silent = True
    with pytest.raises(Unavailable, match="504"):
        reranker.score("tea", ["tea"])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (grpc.StatusCode.PERMISSION_DENIED, "Permission 'discoveryengine.rankingConfigs.rank' denied"),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "Quota exceeded"),
        (grpc.StatusCode.INVALID_ARGUMENT, "Unknown model"),
        (grpc.StatusCode.UNAVAILABLE, "try again"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_refusal_is_reported_and_not_retried(
    reranker: VertexReranker, server: RankingServer, code: grpc.StatusCode, message: str
) -> None:
    server.refusal = (code, message)
    before = len(server.requests)
    with pytest.raises(ServiceError, match=message):
        reranker.score("tea", ["tea"])
    assert len(server.requests) == before + 1


def test_scores_that_do_not_cover_all_texts_are_not_used(reranker: VertexReranker, server: RankingServer) -> None:
    server.forgets = 1
    with pytest.raises(Unavailable, match="1 scores for 2 texts, and not all are usable"):
        reranker.score("tea", ["tea", "coffee"])


def test_a_client_that_is_still_loading_does_not_delay_searches(
    server: RankingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vertex_reranker, "DEADLINE_SECONDS", DEADLINE_SECONDS)
    loaded = Event()

    def connect() -> RankServiceClient:
        assert loaded.wait(60)
        return _client(server)

    reranker = VertexReranker("test-project", MODEL, connect)
    with pytest.raises(Unavailable, match="still loading"):
        reranker.score("tea", ["tea"])
    loaded.set()
    assert reranker.check()


def test_credentials_that_were_unavailable_are_looked_for_again(server: RankingServer) -> None:
    metadata_server_is_there = Event()

    def connect() -> RankServiceClient:
        if not metadata_server_is_there.is_set():
            raise DefaultCredentialsError("no metadata server")
        return _client(server)

    reranker = VertexReranker("test-project", MODEL, connect)
    with pytest.raises(Unavailable, match="no metadata server"):
        reranker.check()
    metadata_server_is_there.set()
    assert reranker.check() == f"{MODEL} orders the results"


def test_doctor_reports_what_the_reranker_lacks(reranker: VertexReranker, server: RankingServer) -> None:
    assert check_reranker(reranker).ok
    server.refusal = (grpc.StatusCode.PERMISSION_DENIED, "denied")
    check = check_reranker(reranker)
    assert not check.ok
    assert "roles/discoveryengine.viewer" in str(check.remedy)


def test_a_function_calls_the_reranker_with_its_own_identity_over_tls(tmp_path: Path) -> None:
    roots = tmp_path / "roots.pem"
    ranking = RankingServer(_words_in_common)
    with ranking.serving(self_signed(roots)), MetadataServer().serving() as metadata:
        # google-auth and gRPC read their variables at import, so the call is made in a new process.
        program = f"""
from google.cloud.discoveryengine_v1 import RankServiceClient
from mnemosyne.adapters.vertex_reranker import VertexReranker
connect = lambda: RankServiceClient(client_options={{"api_endpoint": "localhost:{ranking.port}"}})
print(VertexReranker("test-project", "{MODEL}", connect).check())
"""
        completed = subprocess.run(
            [sys.executable, "-c", program],
            env={
                **os.environ,
                **metadata.environment,
                "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(roots),
                "PYTHONPATH": "functions",
            },
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
        )
    assert completed.stdout.strip() == f"{MODEL} orders the results", completed.stderr
    assert ranking.metadata[0]["authorization"] == f"Bearer {TOKEN}"
