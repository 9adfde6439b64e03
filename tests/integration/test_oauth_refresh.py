"""Refresh tokens: repeated uses within a minute give the same new token; any later reuse ends the grant."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
import uvicorn

from mnemosyne.adapters.database.connections import Connection, connection_factory
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.cli.local import postgres
from mnemosyne.cli.local.functions import free_port
from mnemosyne.domain.oauth import REPEAT_SECONDS, PeopleRule
from tests.oauth_server import AuthServer, refresh, tokens_of
from tests.waiting import wait_until

PROCESSES = 4


@pytest.fixture
def pools(cluster: postgres.EmbeddedPostgres, auth: Pool, database: str) -> Iterator[tuple[Pool, Pool]]:
    """The connections of two instances of the function."""
    with closing(Pool(connection_factory(cluster.url("auth", database)), 8)) as other:
        yield auth, other


@pytest.fixture
def servers(pools: tuple[Pool, Pool], tmp_path: Path) -> list[AuthServer]:
    return [AuthServer(pool, tmp_path, [PeopleRule(who="*", namespace="team")]) for pool in pools]


@pytest.fixture
def server(servers: list[AuthServer]) -> AuthServer:
    return servers[0]


@pytest.fixture
def pass_time(owner: Connection) -> Callable[[int], None]:
    """Function that moves the times of all tokens in the database into the past."""

    def past(seconds: int) -> None:
        moved = f"- interval '{seconds} s'"
        owner.run_file(f"""
            UPDATE oauth_refresh_tokens SET used_at = used_at {moved}, expires_at = expires_at {moved};
            UPDATE oauth_grants SET expires_at = expires_at {moved}, granted_at = granted_at {moved};
        """)

    return past


@pytest.mark.parametrize("seconds", [0, 1, REPEAT_SECONDS - 5])
@pytest.mark.parametrize("repeats", [1, 3])
def test_a_repeated_refresh_gives_the_same_token_on_each_instance(
    servers: list[AuthServer], stands: Any, pass_time: Any, seconds: int, repeats: int
) -> None:
    client, first = tokens_of(servers[0])
    second = refresh(servers[0].browser(), client, first["refresh_token"]).json()
    pass_time(seconds)
    for number in range(repeats):
        again = refresh(servers[1 - number % 2].browser(), client, first["refresh_token"])
        assert (again.status_code, again.json()["refresh_token"]) == (200, second["refresh_token"])
        assert stands(again.json())
    assert refresh(servers[1].browser(), client, second["refresh_token"]).status_code == 200


@pytest.mark.parametrize("seconds", [REPEAT_SECONDS + 1, 3600, 20 * 24 * 3600])
def test_a_refresh_repeated_after_a_minute_ends_the_grant(
    server: AuthServer, stands: Any, pass_time: Any, seconds: int
) -> None:
    client, first = tokens_of(server)
    second = refresh(server.browser(), client, first["refresh_token"]).json()
    pass_time(seconds)
    again = refresh(server.browser(), client, first["refresh_token"])
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert refresh(server.browser(), client, second["refresh_token"]).json()["error"] == "invalid_grant"
    assert not stands(second)


@pytest.mark.parametrize("used", [1, 2, 3])
def test_a_refresh_repeated_after_use_of_the_new_token_ends_the_grant(
    server: AuthServer, stands: Any, used: int
) -> None:
    client, first = tokens_of(server)
    newest = first
    for _ in range(used + 1):
        newest = refresh(server.browser(), client, newest["refresh_token"]).json()
    again = refresh(server.browser(), client, first["refresh_token"])
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert not stands(newest)


def test_another_client_cannot_repeat_a_refresh_or_end_the_grant(server: AuthServer, stands: Any) -> None:
    client, first = tokens_of(server)
    second = refresh(server.browser(), client, first["refresh_token"]).json()
    other = server.register(client_name="Another")
    assert refresh(server.browser(), other, first["refresh_token"]).json()["error"] == "invalid_grant"
    assert stands(second)


def test_a_refresh_repeated_after_a_revocation_is_refused(server: AuthServer) -> None:
    client, first = tokens_of(server)
    second = refresh(server.browser(), client, first["refresh_token"]).json()
    server.browser().post("/revoke", data={"client_id": client, "token": second["refresh_token"]})
    assert refresh(server.browser(), client, first["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_repeated_refresh_does_not_extend_the_minute(server: AuthServer, pass_time: Any) -> None:
    client, first = tokens_of(server)
    for seconds, status in ((0, 200), (REPEAT_SECONDS // 2, 200), (REPEAT_SECONDS // 2 + 1, 400)):
        pass_time(seconds)
        assert refresh(server.browser(), client, first["refresh_token"]).status_code == status


def test_the_next_refresh_token_cannot_be_computed_from_the_database_alone(
    server: AuthServer, owner: Connection
) -> None:
    """Only the row of the last used token has a salt. To compute the next token, one needs the salt and that token."""
    client, tokens = tokens_of(server)
    refresh_tokens = [tokens["refresh_token"]]
    for _ in range(3):
        refresh_tokens.append(refresh(server.browser(), client, refresh_tokens[-1]).json()["refresh_token"])
    rows = owner.run("SELECT hash, successor_salt FROM oauth_refresh_tokens")
    assert sum(row["successor_salt"] is not None for row in rows) == 1
    assert not [token for token in refresh_tokens if token in str(rows)]


@contextmanager
def _listening(server: AuthServer) -> Iterator[str]:
    """Serve the app of one instance on a real port."""
    port = free_port()
    uvicorn_server = uvicorn.Server(uvicorn.Config(server.app, "127.0.0.1", port, log_level="error", lifespan="off"))
    thread = threading.Thread(target=uvicorn_server.run, daemon=True)
    thread.start()
    wait_until(lambda: uvicorn_server.started, "the server listens")
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        uvicorn_server.should_exit = True
        thread.join(10)


def _renewed(app: httpx.Client, client: str, token: str, is_lost: bool, barrier: threading.Barrier) -> httpx.Response:
    """Refresh at the same time as other processes, and return the answer. If `is_lost`, the first answer is ignored."""
    barrier.wait(30)
    if is_lost:
        refresh(app, client, token)
    answer: httpx.Response = refresh(app, client, token)
    return answer


def test_processes_that_refresh_at_once_for_an_hour_stay_logged_in(
    servers: list[AuthServer], stands: Any, pass_time: Any
) -> None:
    """Each process has its own copy of the tokens, and loses one answer in four.

    Access tokens expire after five minutes.
    """
    client, tokens = tokens_of(servers[0])
    refresh_tokens = [tokens["refresh_token"]] * PROCESSES
    chance, headers = Random(5), {"Host": "auth.example", "X-Forwarded-For": "203.0.113.9"}
    with ExitStack() as exits, ThreadPoolExecutor(PROCESSES) as pool:
        urls = [exits.enter_context(_listening(server)) for server in servers]
        apps = [exits.enter_context(httpx.Client(base_url=urls[n % 2], headers=headers)) for n in range(PROCESSES)]
        for _ in range(12):
            barrier, loses_answer = threading.Barrier(PROCESSES), [chance.random() < 0.25 for _ in range(PROCESSES)]
            answers = list(
                pool.map(_renewed, apps, [client] * PROCESSES, refresh_tokens, loses_answer, [barrier] * PROCESSES)
            )
            assert [answer.status_code for answer in answers] == [200] * PROCESSES, [a.text for a in answers]
            assert all(stands(answer.json()) for answer in answers)
            refresh_tokens = [answer.json()["refresh_token"] for answer in answers]
            assert len(set(refresh_tokens)) == 1
            pass_time(300)
