"""The Pub/Sub emulator, as a fixture."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import httpx


@pytest.fixture(scope="session")
def emulator() -> Iterator[str]:
    """The Pub/Sub emulator's host and port; skips the test with a reason if the emulator is not installed."""
    import httpx

    from mnemosyne.cli.local import functions
    from tests.waiting import wait_until

    jar = next(iter(sorted(_sdk().glob("platform/pubsub-emulator/lib/cloud-pubsub-emulator-*-all.jar"))), None)
    if jar is None:
        pytest.skip("NOT TESTED: the Pub/Sub emulator is not installed (gcloud components install pubsub-emulator)")
    host = f"127.0.0.1:{functions.free_port()}"
    process = subprocess.Popen(
        ["java", "-jar", jar, "--host=127.0.0.1", f"--port={host.split(':')[1]}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with httpx.Client(base_url=f"http://{host}", timeout=2) as client:
            wait_until(lambda: _answers(client), "the Pub/Sub emulator answers")
        yield host
    finally:
        process.kill()  # after SIGTERM, the process would take ten seconds to exit
        process.wait()


def _answers(client: "httpx.Client") -> bool:
    import httpx

    try:
        return client.get("/").text.strip() == "Ok"
    except httpx.HTTPError:
        return False


def _sdk() -> Path:
    command = shutil.which("gcloud")  # `gcloud info` takes a second
    return Path(command).resolve().parents[1] if command else Path("/usr/lib/google-cloud-sdk")
