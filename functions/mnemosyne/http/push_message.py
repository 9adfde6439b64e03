"""One push of Pub/Sub, raw or as a CloudEvent."""

import base64
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field

from mnemosyne.domain.memory import DeadLetter
from mnemosyne.domain.message import IngestMessage, decode
from mnemosyne.domain.object_import import OBJECT_NOTIFICATION
from mnemosyne.domain.parsing import parse
from mnemosyne.domain.published import Published
from mnemosyne.errors import InvalidRequest
from mnemosyne.service import ingest

LAST_DAY = timedelta(days=1)
"""Of a message's retention. A message that was not stored before is kept as a dead letter, so that it is not lost."""
_ENDPOINT = re.compile(r"/(namespaces|objects)/(.*)", re.DOTALL)


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True)

    data: str = ""
    attributes: dict[str, str] = Field(default_factory=dict)
    message_id: str = Field("", alias="messageId")
    publish_time: str = Field("", alias="publishTime")


class _Envelope(BaseModel):
    """What Pub/Sub posts: https://cloud.google.com/pubsub/docs/push#receive_push."""

    model_config = ConfigDict(frozen=True)

    message: _Message
    subscription: str = ""
    delivery_attempt: int = Field(1, alias="deliveryAttempt")


@dataclass(frozen=True)
class Push:
    """One delivery of one message."""

    message: Published
    attempt: int
    only: str | None = None
    """The namespace that the subscription is for: its publisher may write to no other."""
    of_bucket: bool = False
    """Whether the subscription is a bucket's, so that the message tells of an object."""

    @property
    def expires_soon(self) -> bool:
        """Whether Pub/Sub deletes the message within LAST_DAY."""
        try:
            age = datetime.now(UTC) - datetime.fromisoformat(self.message.publish_time)
        except (ValueError, TypeError):  # no time, or one without its offset
            return False
        return age > ingest.RETENTION - LAST_DAY

    def decoded(self) -> IngestMessage:
        """Return what the message asks for."""
        return decode(self.message, only=self.only)

    def dead_letter(self, cause: str) -> DeadLetter:
        """Return the message as a dead letter."""
        return DeadLetter(
            message_id=self.message.message_id,
            data=self.message.data,
            attributes=self.message.kept_attributes | ({OBJECT_NOTIFICATION: "true"} if self.of_bucket else {}),
            cause=cause,
            dead_lettered_at=datetime.now(UTC),
            letter_id=self.message.letter_id,
        )


def read_push(body: bytes, path: str) -> Push:
    """Return a raw push, or a CloudEvent in binary (same body) or structured mode.

    The endpoint says whose messages these are: `/namespaces/NAMESPACE` a publisher's, `/objects/NAMESPACE` a bucket's.
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
    if endpoint is None:
        return Push(published, envelope.delivery_attempt)
    return Push(published, envelope.delivery_attempt, endpoint[2], of_bucket=endpoint[1] == "objects")
