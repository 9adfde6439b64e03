"""An object of a bucket that is imported: which one, how far it is read, and its report. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO, Self

from mnemosyne.domain.memory import IngestStatus
from mnemosyne.domain.parsing import SOURCE_LIMIT
from mnemosyne.domain.pubsub_message import storable_name
from mnemosyne.domain.visible import escaped
from mnemosyne.errors import InvalidRequest

OBJECT_BYTES = 1024**3
"""Of an object, packed or not, at most."""
REPORT_SUFFIX = ".mnemosyne-report.jsonl"
OBJECT_NOTIFICATION = "object_notification"
"""Attribute of a dead letter that is a notification about an object, and has no memories."""
_KEY_DIGITS = 10


@dataclass(frozen=True, kw_only=True)
class StoredObject:
    """One generation of one object. Overwriting it makes another generation."""

    bucket: str
    name: str
    generation: int

    @classmethod
    def of(cls, attributes: Mapping[str, str]) -> Self | None:
        """Return the object of a notification; None if it is not about new content, or about a report of ours.

        https://cloud.google.com/storage/docs/pubsub-notifications#attributes. Raises InvalidRequest for anything else.
        """
        named = [attributes.get(name, "") for name in ("eventType", "bucketId", "objectId", "objectGeneration")]
        event, bucket, name, generation = named
        if not (
            event
            and bucket
            and storable_name(name, characters=SOURCE_LIMIT)
            and generation.isascii()
            and generation.isdigit()
        ):
            raise InvalidRequest(
                "the message must be a Cloud Storage notification, with the attributes eventType, bucketId, objectId "
                f"and objectGeneration, got {', '.join(sorted(attributes)) or 'none'}"
            )
        if event != "OBJECT_FINALIZE" or name.endswith(REPORT_SUFFIX):
            return None
        return cls(bucket=bucket, name=name, generation=int(generation))

    @property
    def source(self) -> str:
        """Source of the records that are named by their line."""
        return f"gs://{self.bucket}/{escaped(self.name)}#{self.generation}"

    @property
    def report(self) -> str:
        """The name of its report, which is another for each generation."""
        return f"{self.name}.{self.generation}{REPORT_SUFFIX}"


@dataclass(frozen=True, kw_only=True)
class OpenObject:
    """An object's content as it is stored, and its properties."""

    stream: BinaryIO
    size: int
    packed: bool
    modified: datetime | None


@dataclass(frozen=True, kw_only=True)
class ObjectImport:
    """How far an object has been read."""

    source: str
    memories: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Names of unknown fields, with the number of records that had each."""
    error: str | None = None
    is_read: bool = False
    is_reported: bool = False


@dataclass(frozen=True, kw_only=True)
class ObjectLine:
    """One record of an object: the line that it begins on, and its outcome. None while there is none."""

    line: str
    status: IngestStatus | None


def key_of(line: int, place: int) -> str:
    """Return the key of the memory that begins on a line, the `place`th to do so: keys sort as lines do."""
    return f"{line:0{_KEY_DIGITS}}" + (f".{place}" if place > 1 else "")


def line_of(key: str) -> int:
    """Return the line that a key names."""
    return int(key.partition(".")[0])
