"""The JSON body of an operator's request."""

from typing import TypeVar

from mnemosyne.domain.parsing import Input, parse, parse_json

RequestT = TypeVar("RequestT", bound=Input)


def read_request(model: type[RequestT], body: bytes) -> RequestT:
    """Parse the body. Raises InvalidRequest."""
    return parse(model, parse_json(body, of="the request"), of="the request")
