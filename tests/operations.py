"""Run an operator's operations in a `migrate` function, without gcloud.

In Google Cloud, a workflow calls the function. Here the test calls the function's app directly.
"""

import json
from collections.abc import Callable
from typing import Any

from pydantic_core import to_jsonable_python
from starlette.testclient import TestClient

from mnemosyne.app.operations.operation import Operation
from mnemosyne.cli.deployment import Deployment
from mnemosyne.http.admin.sealed import Run, SealedOperations
from tests.fakes_wire.google.apis import succeeded


class CalledDirectly(Deployment):
    """A deployment whose function `migrate` is an app in this process.

    `bodies` has the bodies of all requests to the function and of its answers. In Google Cloud, a workflow would pass
    them on.
    """

    def __init__(self, client: TestClient, token: str = "") -> None:
        super().__init__("a-project", "europe-west1", "mnemosyne")
        self.client = client
        self._token = token
        self.bodies: list[dict[str, Any]] = []
        """The body of each request, each followed by the body of its answer."""

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        response = self.client.post("/operations", json=body)
        answer: dict[str, Any] = response.json()
        self.bodies += [body, answer]
        assert response.status_code == 200, answer
        return answer


def workflow(run: Run) -> Callable[[str | None], dict[str, Any]]:
    """Return a function that takes the argument of a deployment's workflow, and does what the workflow does.

    The workflow calls the function `migrate`. Here this function runs operations with `run`.
    """
    function = SealedOperations(run, lambda event, exc: str(exc))

    def execute(argument: str | None) -> dict[str, Any]:
        request = json.loads(argument or "{}")
        assert request["path"] == "operations"
        return succeeded(function.answer(json.dumps(request["body"]).encode()))

    return execute


class LocalOperations:
    """Runs operations in this process, on an operator or on an object that has some of an operator's methods."""

    def __init__(self, operator: Any) -> None:
        self._operator = operator

    def run(self, operation: Operation) -> dict[str, Any]:
        """Run an operation."""
        answer: dict[str, Any] = to_jsonable_python(operation.run(self._operator))
        return answer


class OfStore:
    """An operator that has only one namespace. `store` is the memory store of this namespace."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def memories_of(self, namespace: str) -> Any:
        """Return the store."""
        assert namespace == self._store.namespace
        return self._store
