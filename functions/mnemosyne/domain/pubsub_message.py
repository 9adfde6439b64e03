"""Pub/Sub messages, the limits of their attributes, and outcomes encoded as CloudEvents. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson

from mnemosyne.errors import InvalidRequest

COUNT_LIMIT = 100
NAME_BYTES = 256
VALUE_BYTES = 1024
"""Pub/Sub's limits of attributes: https://cloud.google.com/pubsub/quotas#resource_limits."""


def check_attributes(attributes: Mapping[str, str]) -> None:
    """Raise InvalidRequest, with the names of the attributes, if Pub/Sub would reject them."""
    if len(attributes) > COUNT_LIMIT:
        raise InvalidRequest(f"a message must have at most {COUNT_LIMIT} attributes, got {len(attributes)}")
    problems = [problem for name, value in sorted(attributes.items()) if (problem := _attribute_problem(name, value))]
    if problems:
        raise InvalidRequest("; ".join(problems[:10]))


def _attribute_problem(name: str, value: str) -> str:
    excerpt = repr(name if len(name) <= 60 else f"{name[:60]}…")
    if not name:
        return "an attribute must have a name"
    if name.startswith("goog"):
        return f"the attribute {excerpt} begins with goog, which is reserved"
    if (size := len(name.encode(errors="surrogatepass"))) > NAME_BYTES:
        return f"the name of the attribute {excerpt} must have at most {NAME_BYTES} bytes, got {size:,}"
    if (size := len(value.encode(errors="surrogatepass"))) > VALUE_BYTES:
        return f"the attribute {excerpt} must have at most {VALUE_BYTES:,} bytes, got {size:,}"
    return ""


PUBSUB_ATTRIBUTES = ("CloudPubSubDeadLetter", "goog")
"""Prefixes of attributes that Pub/Sub adds to messages that it forwards to a dead-letter topic, and to messages of
topics with a schema."""
LETTER_ID = "dead_letter_id"
"""Attribute of a redriven message: the id of its dead letter."""
_SOURCE_PUBLISH_TIME = "CloudPubSubDeadLetterSourceTopicPublishTime"
FIRST_PUBLISHED = "first_published"
"""Attribute of a redriven message: when it was first published."""
_REQUEST_ID = re.compile(rb'"request_id"\s*:\s*"([0-9A-Fa-f-]{32,36})"')


def _in_utc(time: str) -> str:
    """Return the time in UTC with milliseconds; empty if the text is not a time. Without an offset, UTC is assumed."""
    try:
        moment = datetime.fromisoformat(time)
        in_utc = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        return in_utc.isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):
        return ""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published message: data, attributes, and the id and time from Pub/Sub."""

    message_id: str
    data: bytes
    attributes: Mapping[str, str]
    publish_time: str = ""

    @property
    def first_published(self) -> str:
        """Time at which the message was first published, in RFC 3339 with milliseconds.

        This time stays the same when Pub/Sub forwards the message to a dead-letter topic, or when an operator publishes
        its dead letter again. The result is the earliest of three times: Pub/Sub's publish time, and the times in two
        attributes. An attribute with a later time than Pub/Sub's comes from a clock that is fast. With such a time, the
        message would seem to be later than a deletion that in fact followed the message. An attribute that is not a
        time is ignored. If it made the time unknown, each delivery would treat the message as published at the time of
        the delivery.
        """
        attributes = self.attributes
        times = (attributes.get(FIRST_PUBLISHED, ""), attributes.get(_SOURCE_PUBLISH_TIME, ""), self.publish_time)
        return min(filter(None, map(_in_utc, times)), default=next(filter(None, times), ""))

    @property
    def first_published_at(self) -> datetime | None:
        """The time of `first_published` as a datetime; None if it is unknown."""
        try:
            return datetime.fromisoformat(self.first_published).astimezone(UTC)
        except (ValueError, OverflowError):
            return None

    @property
    def kept_attributes(self) -> dict[str, str]:
        """The attributes to store with the dead letter of the message.

        A redrive publishes the message again with these attributes, so that its requests keep their ids.
        """
        attributes = {
            k: v for k, v in self.attributes.items() if k != LETTER_ID and not k.startswith(PUBSUB_ATTRIBUTES)
        }
        attributes |= {FIRST_PUBLISHED: self.first_published} if self.first_published else {}
        return {name.replace("\x00", "\ufffd"): value.replace("\x00", "\ufffd") for name, value in attributes.items()}

    @property
    def letter_id(self) -> UUID | None:
        """Id of the dead letter from which the message was published again (redriven). None for other messages."""
        try:
            return UUID(self.attributes.get(LETTER_ID, ""))
        except ValueError:
            return None

    @property
    def visible_request_ids(self) -> list[UUID]:
        """The request ids in the attributes and in the data. Data that is not valid JSON is searched, too."""
        in_data = [match.decode() for match in _REQUEST_ID.findall(self.data)]
        ids: dict[UUID, None] = {}
        for text in [*in_data, self.attributes.get("request_id", "")]:
            try:
                ids[UUID(text)] = None
            except ValueError:
                continue
        ids.pop(UUID(int=0), None)  # the nil UUID means that the publisher has set no id
        return list(ids)


def cloud_event(
    kind: str, id_: str, at: str | None, data: Mapping[str, Any], *copied: str
) -> tuple[bytes, dict[str, str]]:
    """Encode a CloudEvent of the type `kind` in binary mode, and return the message's data and attributes.

    `copied` has the names of fields of the data that also become attributes, so that subscriptions can filter by these
    attributes. An attribute that is empty or too long is left out.
    """
    attributes = {
        "ce-specversion": "1.0",
        "ce-id": id_,
        "ce-source": "//mnemosyne",
        "ce-type": kind,
        "ce-time": at,
        "content-type": "application/json",
        **{name: data[name] and str(data[name]) for name in copied},
    }
    valid = {name: value for name, value in attributes.items() if value and len(value.encode()) <= VALUE_BYTES}
    return orjson.dumps(data), valid
