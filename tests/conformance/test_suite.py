"""The official MCP conformance suites, with all scenarios of both protocol versions.

The suites test two servers. The first (the target) has this project's HTTP layers with the tools, resources and prompts
that the suites expect. The second is the product as it is deployed, which has none of these. Expected failures are
listed with their reasons, and must fail.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from mnemosyne.cli.local.functions import free_port
from tests.dev import DevServer
from tests.waiting import wait_until

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SUITE = HERE / "js/node_modules/@modelcontextprotocol/conformance/dist/index.js"
EARLIER_SUITE = HERE / "js/node_modules/conformance-0.1/dist/index.js"
EXPECTED = HERE / "expected_failures"


def _run(suite: Path, javascript: str, url: str, expected: str, *options: str) -> str:
    """Return the suite's output. Fails on unexpected failures and on unexpected passes."""
    ended = subprocess.run(
        ["node", suite, "server", "--url", url, "--expected-failures", EXPECTED / f"{expected}.yml", *options],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PATH": javascript, "NO_COLOR": "1"},
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-3_000:] + ended.stderr[-1_000:]
    return ended.stdout


def _passed(printed: str) -> set[str]:
    return {line.split()[1].rstrip(":") for line in printed.splitlines() if line.startswith("✓") and " passed" in line}


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    """The address of the server with the suites' fixtures."""
    port = free_port()
    command = [sys.executable, "-m", "tests.conformance.target.server", str(port)]
    path = os.pathsep.join(str(ROOT / directory) for directory in ("functions", "."))
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"

    def up() -> bool:
        try:
            return httpx.get(f"{url}/health").status_code == 200
        except httpx.TransportError:
            return False

    try:
        wait_until(up, "the target serves")
        yield f"{url}/mcp"
    finally:
        process.terminate()
        process.wait(20)


def test_the_fixtures_pass_all_requirements_of_2026_07_28_in_at_least_forty_scenarios(
    target: str, javascript: str
) -> None:
    printed = _run(SUITE, javascript, target, "tasks", "--requirements", "2026-07-28")
    assert len({name for name in _passed(printed) if not name.startswith("tasks")}) == 40


def test_the_fixtures_pass_all_of_2025_11_25_except_what_needs_a_session(target: str, javascript: str) -> None:
    _run(SUITE, javascript, target, "handshake", "--suite", "all", "--spec-version", "2025-11-25")


@pytest.mark.nightly  # an older release of the suite, with the scenarios of the same revision of MCP
def test_the_fixtures_pass_all_of_the_earlier_suite_except_what_needs_a_session(target: str, javascript: str) -> None:
    _run(EARLIER_SUITE, javascript, target, "handshake", "--suite", "all")


def test_the_product_passes_all_scenarios_that_do_not_need_the_suite_s_fixtures(
    dev: DevServer, javascript: str
) -> None:
    passed = _passed(_run(SUITE, javascript, dev.url, "product", "--requirements", "2026-07-28"))
    assert {"tools-list", "resources-list", "prompts-list", "caching", "dns-rebinding-protection"} <= passed


# By day only one scenario is run, because each one starts Node.js. The requirements of the newest revision (above)
# contain the scenarios of the lists, and the server with the fixtures passes ping.
@pytest.mark.parametrize(
    "scenario",
    [
        "server-initialize",
        *(
            pytest.param(name, marks=pytest.mark.nightly)
            for name in ("ping", "tools-list", "resources-list", "prompts-list")
        ),
    ],
)
def test_the_product_passes_the_scenarios_of_the_handshake(dev: DevServer, javascript: str, scenario: str) -> None:
    _run(SUITE, javascript, dev.url, "none", "--scenario", scenario, "--spec-version", "2025-11-25")
