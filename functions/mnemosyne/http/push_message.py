"""Parse a push of Pub/Sub, raw or as a CloudEvent."""

import base64
import re
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field

from mnemosyne.domain.parsing import parse
from mnemosyne.domain.pubsub_message import Published
from mnemosyne.errors import InvalidRequest
from mnemosyne.service.deliveries import Push

_ENDPOINT = re.compile(r"/(namespaces|objects)/(.*)", re.DOTALL)


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True)

    data: str = ""
    attributes: dict[str, str] = Field(default_factory=dict)
    message_id: str = Field("", alias="messageId")
    publish_time: str = Field("", alias="publishTime")


class _Envelope(BaseModel):
    """Body of a push: https://cloud.google.com/pubsub/docs/push#receive_push."""

    model_config = ConfigDict(frozen=True)

    message: _Message
    subscription: str = ""
    delivery_attempt: int = Field(1, alias="deliveryAttempt")


def read_push(body: bytes, path: str) -> Push:
    """Parse a raw push, or a CloudEvent in binary mode (same body) or structured mode.

    The path names the namespace and the kind of message: `/namespaces/NAMESPACE` for memories of a publisher,
    `/objects/NAMESPACE` for notifications of a bucket. Raises InvalidRequest.
    """
    endpoint = _ENDPOINT.fullmatch(path)
    if endpoint and not endpoint[2].strip():
        raise InvalidRequest(f"the endpoint must name a namespace, got {path}")
    try:
        posted: Any = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise InvalidRequest(f"the push must be JSON: {exc}") from exc
    if isinstance(posted, dict) and "specversion" in posted:
        posted = posted.get("data")
    envelope = parse(_Envelope, posted)
    try:
        data = base64.b64decode(envelope.message.data, validate=True)
    except ValueError as exc:
        raise InvalidRequest(f"message.data must be base64: {exc}") from exc
    message = envelope.message
    published = Published(
        message_id=message.message_id, data=data, attributes=message.attributes, publish_time=message.publish_time
    )
    subscription = envelope.subscription.rpartition("/")[2]
    if endpoint is None:
        return Push(published, envelope.delivery_attempt, subscription=subscription)
    of_bucket = endpoint[1] == "objects"
    return Push(published, envelope.delivery_attempt, endpoint[2], of_bucket=of_bucket, subscription=subscription)
