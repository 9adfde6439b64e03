"""`POST /operations` of the `migrate` function: run an operator's operation, encrypted in both directions.

Requests and answers pass through a workflow, and Google keeps them for 90 days. Therefore the operator's command
encrypts each request for this function, and this function encrypts each answer for the command. Workflows also limit
the size of a value, so a long answer is sent in parts.
"""

import gzip
import json
import threading
from collections.abc import Callable
from typing import Annotated, Any

from cachetools import TTLCache
from pydantic import Field

from mnemosyne.domain.parsing import Input, Text, parse, parse_json
from mnemosyne.domain.sealing import ANSWER, REQUEST, KeyPair
from mnemosyne.errors import MnemosyneError, ServiceError

PART_BYTES = 100_000
"""Bytes of a part of an answer: 133,336 characters in base64. Workflows allows 256 KB for one text, and 512 KB for all
variables of a workflow together: https://cloud.google.com/workflows/quotas."""
ANSWERS = 4
"""Maximum number of stored answers. Answers are stored for calls that request a further part or are repeated."""
ANSWER_SECONDS = 600.0
"""Maximum age of a stored answer, in seconds."""

Run = Callable[[str, Any, str], dict[str, Any]]
"""Function that runs an operation, given the operation's name and arguments and the caller's identity token."""


class Envelope(Input):
    """Body of `POST /operations`: the encrypted request (`sealed`), and two public keys.

    `client` is the caller's key. `server` is the function's key that the caller has stored. If this is not the
    function's current key, the answer contains only the current key, and the request is not run.
    """

    client: Annotated[Text, Field(max_length=100)]
    server: Annotated[Text, Field(max_length=100)] = ""
    sealed: Annotated[Text, Field(max_length=100_000)] = ""


class Call(Input):
    """The encrypted part of a request."""

    id: Annotated[Text, Field(min_length=8, max_length=64)]
    """Id of the request. A repeated request with the same id gets the same answer, and the operation does not run
    again."""
    part: Annotated[int, Field(ge=0)] = 0
    operation: Text
    arguments: dict[str, Any]
    token: Text = ""


class SealedOperations:
    """Decrypts requests, runs their operations and encrypts the answers."""

    def __init__(self, run: Run, report: Callable[[str, Exception], str]) -> None:
        self._run = run
        self._report = report
        self._keys = KeyPair()
        self._answers: TTLCache[tuple[str, str], bytes] = TTLCache(ANSWERS, ANSWER_SECONDS)
        self._lock = threading.Lock()

    def answer(self, body: bytes) -> dict[str, Any]:
        """Answer a request. Raises InvalidRequest if the request cannot be decrypted or read."""
        envelope = parse(Envelope, parse_json(body, of="the request"), of="the request")
        if envelope.server != self._keys.public:  # the caller does not have the current key, so return the current key
            return {"server": self._keys.public}
        channel = self._keys.channel(envelope.client)
        data = gzip.decompress(channel.open(envelope.sealed, REQUEST))
        call = parse(Call, parse_json(data, of="the request"), of="the request")
        with self._lock:
            answer = self._answers.get((envelope.client, call.id))
            # The caller requests a further part, but the stored answer has expired. Return only the key, by which the
            # caller knows that the rest of the answer is lost. The operation must not run a second time.
            if answer is None and call.part:
                return {"server": self._keys.public}
            if answer is None:
                answer = self._answers[envelope.client, call.id] = gzip.compress(
                    json.dumps(self._run_operation(call)).encode()
                )
        begin = call.part * PART_BYTES
        sealed = channel.seal(answer[begin : begin + PART_BYTES], ANSWER)
        return {"sealed": sealed, "parts": -(-len(answer) // PART_BYTES)}

    def _run_operation(self, call: Call) -> dict[str, Any]:
        """Run the operation, and return its answer or its error.

        An error is returned as its class and message, so that the command can raise it again.
        """
        try:
            return {"answer": self._run(call.operation, call.arguments, call.token)}
        except ServiceError as exc:
            return {"error": type(exc).__name__, "message": self._report("operation_failed", exc)}
        except MnemosyneError as exc:
            return {"error": type(exc).__name__, "message": str(exc)}
        except Exception as exc:  # noqa: BLE001 - the caller and the log need the cause
            return {"error": "Unavailable", "message": self._report("operation_failed", exc)}
