"""How a command identifies its caller to a deployment, with the identity tokens of gcloud."""

import json
from typing import Any

import jwt
import pytest

from mnemosyne.app.operations.access import ListKeys
from mnemosyne.cli.deployment import Deployment
from mnemosyne.errors import EndedToken, Unavailable
from tests.operations import workflow

KEY = "a key of at least thirty-two bytes"
TOKEN = jwt.encode({"sub": "1077", "email": "ada@example.com"}, KEY, "HS256")
WITHOUT_EMAIL = jwt.encode({"sub": "1077"}, KEY, "HS256")
ENDED = f"{TOKEN}x"


class Called(Deployment):
    """A deployment whose workflow runs in this process. gcloud prints the given tokens, one at each call."""

    def __init__(self, printed: list[str]) -> None:
        super().__init__("a-project", "europe-west1", "mnemosyne")
        self.printed = printed
        self.received: list[str] = []
        """The token with which each operation was called, in the order of the calls."""
        self._execute = workflow(self._run)

    def _run(self, action: str, arguments: Any, token: str) -> dict[str, Any]:
        self.received.append(token)
        if token == ENDED:
            raise EndedToken("the token has expired")
        return {"keys": []}

    def _gcloud(self, *arguments: str) -> str:
        if arguments[0] == "workflows":
            (data,) = (argument.removeprefix("--data=") for argument in arguments if argument.startswith("--data="))
            return json.dumps(self._execute(data))
        if not self.printed:
            raise Unavailable("gcloud prints no token")
        return f"{self.printed.pop(0)}\n"


@pytest.mark.parametrize(
    ("printed", "received"),
    [
        ([TOKEN], [TOKEN]),
        ([WITHOUT_EMAIL, TOKEN], [TOKEN]),
        ([WITHOUT_EMAIL], [""]),
        (["not-a-jwt"], ["not-a-jwt"]),
        ([], [""]),
        ([ENDED, TOKEN], [ENDED, TOKEN]),
    ],
    ids=["a person", "Compute Engine", "no e-mail", "another form", "no token", "a token that ends in a long command"],
)
def test_an_operation_gets_a_valid_token_with_an_email_or_none(printed: list[str], received: list[str]) -> None:
    """The function would refuse a token without an e-mail address, but it accepts a caller that sends no token."""
    deployment = Called([*printed])
    assert deployment.run(ListKeys()) == {"keys": []}
    assert deployment.received == received
