"""Run operations in a deployment: gcloud runs the project's workflow, which calls the `migrate` function."""

import gzip
import json
import subprocess
import uuid
from base64 import urlsafe_b64decode
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from mnemosyne import errors
from mnemosyne.app.operations.operation import Operation
from mnemosyne.domain.sealing import ANSWER, REQUEST, KeyPair
from mnemosyne.errors import InvalidRequest, MnemosyneError, Unavailable

ARGUMENT_BYTES = 32_000
"""Maximum bytes of a request, which is passed to the workflow as its argument. An argument may have 32 KB:
https://cloud.google.com/workflows/quotas."""
ATTEMPTS = 3
"""Maximum number of times that a request is sent. The `migrate` function makes a new key pair at each start. A request
that was encrypted for an old key pair must be sent again."""


class Deployment:
    """A deployment in Google Cloud.

    Requests and answers are encrypted between this process and the `migrate` function, because Google keeps the inputs
    and results of workflows for 90 days.
    """

    def __init__(self, project: str, region: str, name: str) -> None:
        self._project, self._region, self._name = project, region, name
        self._keys = KeyPair()
        self._server = ""

    def run(self, operation: Operation) -> dict[str, Any]:
        """Run an operation in the `migrate` function, and return its answer.

        Raises the operation's error, or Unavailable if gcloud fails or the function cannot be called.
        """
        result = self._result(operation)
        # A token is valid for an hour, and some commands run longer. So get a new token, and run the operation again.
        if result.get("error") == errors.EndedToken.__name__:
            del self._token
            result = self._result(operation)
        if "error" in result:
            raise _error(result["error"], result["message"])
        answer: dict[str, Any] = result["answer"]
        return answer

    def _result(self, operation: Operation) -> dict[str, Any]:
        """Run an operation in the `migrate` function. Return a dict with its answer, or with its error and message."""
        call = {
            "id": str(uuid.uuid4()),
            "operation": operation.action,
            "arguments": operation.model_dump(mode="json", exclude_defaults=True),
            "token": self._token,
        }
        data, parts = self._request_part(call, 0)
        for part in range(1, parts):
            data += self._request_part(call, part)[0]
        result: dict[str, Any] = json.loads(gzip.decompress(data))
        return result

    def _request_part(self, call: dict[str, Any], part: int) -> tuple[bytes, int]:
        """Request one part of the answer to a call, and return it with the number of parts of the whole answer.

        The function divides a large answer into parts, because the result of a workflow has a limited size.
        """
        for _ in range(ATTEMPTS):
            sealed = {}
            if self._server:
                data = gzip.compress(json.dumps(call | {"part": part}).encode())
                sealed = {"server": self._server, "sealed": self._keys.channel(self._server).seal(data, REQUEST)}
            answer = self._post({"client": self._keys.public, **sealed})
            if "sealed" in answer:
                return self._keys.channel(self._server).open(answer["sealed"], ANSWER), int(answer["parts"])
            if part:  # the function has restarted after the first part, so it has lost the other parts of the answer
                raise Unavailable("the deployment lost the rest of its answer: run the command again")
            self._server = answer["server"]
        raise Unavailable("the function was started again at every call: try again")

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        argument = json.dumps({"path": "operations", "body": body})
        if len(argument) > ARGUMENT_BYTES:
            raise InvalidRequest(
                f"the request must have at most {ARGUMENT_BYTES:,} bytes encrypted, got {len(argument):,}: name fewer "
                "or shorter values"
            )
        execution = json.loads(
            self._gcloud(
                "workflows", "run", f"{self._name}-operate", f"--project={self._project}",
                f"--location={self._region}", f"--data={argument}", "--format=json",
            )
        )  # fmt: skip
        if execution.get("state") != "SUCCEEDED":
            raise Unavailable(f"the deployment refused: {execution.get('error', execution)}")
        answer: dict[str, Any] = json.loads(execution["result"])
        return answer

    @cached_property
    def _token(self) -> str:
        """Return the identity token of gcloud's account, by which the function identifies the caller.

        Returns an empty string if gcloud prints no token with an e-mail address.
        """
        # On Compute Engine only a full token has the e-mail address of the account:
        # https://cloud.google.com/compute/docs/instances/verifying-instance-identity
        for options in ((), ("--token-format=full",)):
            try:
                token = self._gcloud("auth", "print-identity-token", *options).strip()
            except Unavailable:
                break
            if not _lacks_email(token):
                return token
        return ""

    def _gcloud(self, *arguments: str) -> str:
        command: Sequence[str] = ("gcloud", *arguments)
        try:
            process = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - constant program, arguments without a shell
        except (OSError, subprocess.CalledProcessError) as exc:
            reason = getattr(exc, "stderr", "") or exc
            if isinstance(exc, FileNotFoundError):
                reason = "it is not installed, or not in PATH: https://cloud.google.com/sdk"
            if "NOT_FOUND" in str(reason):
                reason = (
                    f"{str(reason).strip()} There is no deployment {self._name} in {self._region} of {self._project}: "
                    "give --project, --region and --deployment of an existing one"
                )
            raise Unavailable(f"gcloud could not call the deployment: {reason}") from exc
        return process.stdout


def _lacks_email(token: str) -> bool:
    """Return whether a JWT has no claim `email`. Its signature is not checked."""
    with suppress(ValueError, IndexError):
        return "email" not in json.loads(urlsafe_b64decode(token.split(".")[1] + "=="))
    return False


def _error(name: str, message: str) -> MnemosyneError:
    """Return an exception for an error that the deployment has reported.

    `name` is the name of the exception's class. If this version of Mnemosyne has no class with this name, the result
    is an Unavailable.
    """
    kind = getattr(errors, name, Unavailable)
    return kind(message) if kind in _RAISED else Unavailable(message)


_RAISED = (
    errors.InvalidRequest, errors.NotFound, errors.OverQuota, errors.Conflict, errors.Unauthorized, errors.Unavailable,
    errors.Misconfigured, errors.Broken,
)  # fmt: skip
