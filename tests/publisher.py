"""Publish messages with google-cloud-pubsub to the topic of a `mnemosyne dev` on the Pub/Sub emulator."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google.cloud import pubsub_v1

from mnemosyne.cli.local.emulator import TOPIC
from tests.dev import COMMAND, DevServer
from tests.directories import server_directory


class Publisher:
    """A program that publishes with google-cloud-pubsub to a Pub/Sub emulator, from which a `mnemosyne dev` reads."""

    def __init__(self, dev: DevServer, emulator: str) -> None:
        self.dev = dev
        self.environment = {**dev.environment, "PUBSUB_EMULATOR_HOST": emulator}
        self._client = pubsub_v1.PublisherClient()

    def publish(self, data: object, **attributes: str) -> str:
        """Publish a message, wait for the emulator's acknowledgement, and return the message id."""
        raw = data if isinstance(data, bytes) else json.dumps(data).encode()
        client: Any = self._client
        return str(client.publish(TOPIC, raw, **attributes).result(20))

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a command `mnemosyne` that works on the running `mnemosyne dev`."""
        command = [str(COMMAND), *arguments, "--data-dir", str(self.dev.directory / "data")]
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *arguments: str) -> str:
        """Run a command that must succeed, and return its output."""
        ended = self.start(*arguments)
        printed, errors = ended.communicate(timeout=120)
        assert ended.returncode == 0, errors.decode()
        return printed.decode()

    def rows(self, *arguments: str) -> list[dict[str, Any]]:
        """Run a command and return the JSON lines that it prints."""
        return [json.loads(line) for line in self.run(*arguments, "--json").splitlines()]


@contextmanager
def publishing(emulator: str) -> Iterator[Publisher]:
    """Start `mnemosyne dev`, and yield a publisher whose messages it stores."""
    with server_directory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PUBSUB_EMULATOR_HOST", emulator)
        server = DevServer(directory)
        server.start()
        try:
            yield Publisher(server, emulator)
        finally:
            server.close()
