"""Common frameworks and clients convert the tools for their vendors' models and run the same steps."""

import os
import subprocess

import pytest

from tests.conformance.clients.run import CLIENTS, DOCUMENT, HERE, STEPS, Client, drive
from tests.dev import DevServer

QUICK = [
    pytest.param(
        client,
        marks=[pytest.mark.nightly] if client.nightly else [],
        id=f"{client.script} {' '.join(client.packages)}".strip(),
    )
    for client in CLIENTS
    if client.quick
]


@pytest.mark.parametrize("client", QUICK)
def test_a_client_completes_each_step(dev: DevServer, javascript: str, client: Client) -> None:
    _, steps = drive(client, dev.url, javascript)
    assert steps == dict.fromkeys(STEPS, "yes")


def test_strict_validators_and_zod_accept_each_schema(dev: DevServer, javascript: str) -> None:
    ended = subprocess.run(
        ["node", HERE / "js" / "schemas.mjs", dev.url],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PATH": javascript},
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_docs_clients_md_has_a_row_for_each_client() -> None:
    rows = [line for line in DOCUMENT.read_text().splitlines() if line.endswith("| yes |")]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == [client.name for client in CLIENTS]
    pinned = [client.packages[0].partition("==")[2] for client in CLIENTS if client.packages]
    versions = [row.split(" | ")[1] for row in rows]
    assert [version for version, client in zip(versions, CLIENTS, strict=True) if client.packages] == pinned
