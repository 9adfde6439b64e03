"""A server of Terraform's state for the backend `http`.

Terraform's local backend writes and compares the whole state after each resource, which takes a third of the time of an
apply. With the backend `http`, Terraform sends the state only once, at the end.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.fakes_wire.http import JsonServer


class StateServer(JsonServer):
    """Server that keeps the state in a file. A test may read and change the file."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file
        self.backend = f'terraform {{\n  backend "http" {{\n    address = "{self.url}"\n  }}\n}}\n'
        """The configuration of a deployment with its state on this server."""

    def exchange(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        """Store the state, or return it; without a state, return 404."""
        if method == "GET":
            return (200, self._file.read_bytes()) if self._file.exists() else (404, b"")
        self._file.write_text(json.dumps(body))
        return 200, b""

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        """Not called."""
        raise NotImplementedError
