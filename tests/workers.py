"""Hooks of pytest: the distribution of tests to workers, and less CPU time at the start of a worker."""

import atexit
import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion import rewrite
from _pytest.mark.expression import Expression
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

TOGETHER = {
    "tests/console/": "console",
    "tests/conformance/oauth/": "oauth",
    "tests/conformance/": "conformance",
    "tests/servers/": "servers",
    "tests/integration/faults/": "faults",
    "tests/integration/incidents/": "terraform",
    **{
        f"tests/terraform/test_{name}.py": "terraform"
        for name in ("alert_texts", "alerts", "changes", "migration", "networks", "operations", "order", "refusals")
    },
    **{f"tests/terraform/test_{name}.py": "gcloud" for name in ("gcloud", "guide", "preflight")},
    **{f"tests/terraform/test_{name}.py": "plan" for name in ("pipeline_module", "terraform")},
}
"""The group of each test file, by the beginning of the file's path; the first match counts. The files of a group run in
one worker, because they share a browser, servers or a deployment."""


USE_JAVASCRIPT = frozenset({"tests/console", "tests/conformance"})
"""Folders whose tests use the packages of `tests/conformance/js`."""
INSTALL = "from tests.conformance.conftest import install_javascript; install_javascript(nightly={})"


class SharedScheduling(LoadFileScheduling):  # type: ignore[misc]
    """Run all tests of a file in one worker, and all files of a group in TOGETHER in one worker."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((group for start, group in TOGETHER.items() if file.startswith(start)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharedScheduling | None:
    """Use SharedScheduling for `--dist loadfile`."""
    return SharedScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def selects_nightly(config: pytest.Config) -> bool:
    """Whether this run selects nightly tests."""
    chosen = config.getoption("markexpr")

    def is_nightly(marker: str, /, **_: str | int | bool | None) -> bool:
        return marker == "nightly"

    return not chosen or Expression.compile(chosen).evaluate(is_nightly)


def _install_javascript(*, nightly: bool) -> None:
    """Install the JavaScript packages while the first tests run. The packages' download takes most of a minute."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", INSTALL.format(nightly)]
    # The output is discarded. If the installation fails, the first test that needs the packages repeats it and says
    # why.
    installing = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    atexit.register(installing.wait)


def pytest_configure(config: pytest.Config) -> None:
    """Start the fork server in the process that starts the workers, and turn off garbage collection in the workers.

    All workers share the fork server, because its imports take several seconds of CPU time. Garbage is not collected
    while pytest collects tests. Otherwise Python would examine the imported modules and tests again and again, which
    would take half of the time.
    """
    if config.getoption("numprocesses", None):
        from tests import forks

        forks.command()
        if USE_JAVASCRIPT.intersection(config.args):
            _install_javascript(nightly=selects_nightly(config))
    else:
        gc.disable()


def pytest_collection(session: pytest.Session) -> None:
    """In a worker, rewrite the assertions of a part of the test files before the tests are collected.

    pytest saves the rewritten files for all workers. In a new clone, each worker would otherwise rewrite the assertions
    of all files, which takes 8 seconds of CPU time.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker and not sys.dont_write_bytecode:
        files = sorted(file for name in ("test_*.py", "conftest.py") for file in Path(__file__).parent.rglob(name))
        for file in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
            _rewrite(file, session.config)


def _rewrite(file: Path, config: pytest.Config) -> None:
    """Rewrite the assertions of a file and write the result where pytest will look for it."""
    cache = rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"
    if rewrite._read_pyc(file, cache) is None:
        status, code = rewrite._rewrite_test(file, config)
        cache.parent.mkdir(exist_ok=True)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, status, cache)


def pytest_collection_finish() -> None:
    """Turn garbage collection on again after pytest has collected the tests.

    `gc.freeze` excludes the collected tests from it.
    """
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run exhaustive tests without measuring coverage, because on Python 3.11 coverage doubles their duration."""
    for item in items:
        if item.get_closest_marker("exhaustive"):
            item.add_marker("no_cover")
