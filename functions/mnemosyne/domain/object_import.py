"""Import of a Cloud Storage object: its identity, progress and report. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO, Self

from mnemosyne.domain.memory import IngestStatus
from mnemosyne.domain.names import storable_name
from mnemosyne.domain.parsing import SOURCE_LIMIT
from mnemosyne.domain.visible import escape
from mnemosyne.errors import InvalidRequest

OBJECT_BYTES = 1024**3
"""Maximum size of an object, compressed or not."""
REPORT_SUFFIX = ".mnemosyne-report.jsonl"
OBJECT_NOTIFICATION = "object_notification"
"""Attribute that marks a dead letter as a notification about an object."""
REPEATED = "="
"""Suffix of a record's key if an earlier record of the object has the same request id and the same content."""
_KEY_DIGITS = 10


@dataclass(frozen=True, kw_only=True)
class StoredObject:
    """One generation of an object. Overwriting the object creates a new generation."""

    bucket: str
    name: str
    generation: int

    @classmethod
    def of(cls, attributes: Mapping[str, str]) -> Self | None:
        """Return the object that a Cloud Storage notification names; None if there is nothing to import.

        There is nothing to import if the notification does not report new content (but, for example, a deletion), or if
        the object is the report of an import. `attributes` are the attributes of the notification, which are documented
        at https://cloud.google.com/storage/docs/pubsub-notifications#attributes. Raises InvalidRequest if a necessary
        attribute is missing or invalid.
        """
        names = ("eventType", "bucketId", "objectId", "objectGeneration")
        event, bucket, name, generation = (attributes.get(attribute, "") for attribute in names)
        has_generation = generation.isascii() and generation.isdigit()
        if not (event and bucket and storable_name(name, characters=SOURCE_LIMIT) and has_generation):
            raise InvalidRequest(
                "the message must be a Cloud Storage notification, with the attributes eventType, bucketId, objectId "
                f"and objectGeneration, got {', '.join(sorted(attributes)) or 'none'}"
            )
        if event != "OBJECT_FINALIZE" or name.endswith(REPORT_SUFFIX):
            return None
        return cls(bucket=bucket, name=name, generation=int(generation))

    @property
    def source(self) -> str:
        """URI of this generation of the object.

        The outcome of a failed record without source and key has this URI as its source.
        """
        return f"gs://{self.bucket}/{escape(self.name)}#{self.generation}"

    @property
    def report(self) -> str:
        """Name of the object to which the report of the import is written. The name includes the generation."""
        return f"{self.name}.{self.generation}{REPORT_SUFFIX}"


@dataclass(frozen=True, kw_only=True)
class OpenObject:
    """The stored content of an object, and its properties. `packed` means compressed with gzip."""

    stream: BinaryIO
    size: int
    packed: bool
    modified: datetime | None


@dataclass(frozen=True, kw_only=True)
class ObjectImport:
    """Progress of importing an object."""

    source: str
    memories: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Names of unknown fields, which are ignored, each with the number of records that have the field."""
    error: str | None = None
    is_read: bool = False
    is_reported: bool = False


@dataclass(frozen=True, kw_only=True)
class ObjectLine:
    """A record in an imported object, with its outcome.

    `line` is a text that begins with the number of the record's line (see `key_of`). `status` is the outcome of the
    record; None before there is an outcome.
    """

    line: str
    status: IngestStatus | None


def key_of(line: int, place: int) -> str:
    """Return the key of a record in the object: its line number and, if `place` is above 1, also `place`.

    Several records can begin on one line, and `place` counts them from 1. Keys sort in the order of the line numbers.
    """
    return f"{line:0{_KEY_DIGITS}}" + (f".{place}" if place > 1 else "")


def line_of(key: str) -> int:
    """Return the line number in a key."""
    return int(key.removesuffix(REPEATED).partition(".")[0])
