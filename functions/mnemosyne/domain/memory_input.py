"""Validate one record: the fields of a memory or of a deletion. Pure.

Tools, messages and imported files share these rules.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from mnemosyne.domain.absent_fields import ZERO_TIME, without_absent
from mnemosyne.domain.argument_rules import closest_name
from mnemosyne.domain.event_time import event_time, in_zone, zone
from mnemosyne.domain.failed_request import failed_request
from mnemosyne.domain.lifetime import expiry, lifetime, parse_boolean
from mnemosyne.domain.memory import MEMORY_FIELDS, Deletion, ExternalId, IngestRequest, Reading, Request, content_hash
from mnemosyne.domain.message_mistakes import fix_of_envelope
from mnemosyne.domain.names import namespace_problem, storable_name
from mnemosyne.domain.parsing import (
    KEY_LIMIT,
    Content,
    Id,
    Input,
    JsonObject,
    Key,
    Session,
    Source,
    Tags,
    Text,
    Title,
    json_of_text,
    parse,
)
from mnemosyne.domain.text_checks import excerpt
from mnemosyne.errors import InvalidRequest
from mnemosyne.ids import deletion_id, version_id

SCHEMA_VERSION = 1
IS_NEWER = f"is newer than {SCHEMA_VERSION}, the newest version that this release of Mnemosyne reads"


@dataclass(frozen=True, kw_only=True)
class Defaults:
    """Default values for a record's fields, taken from the record's message, file or call."""

    new_id: Callable[[], UUID]
    """Function that makes the request id of a record without request id and key."""
    namespace: str | None = None
    """The only namespace that a record may name. None on a client, because only the server checks the namespace."""
    source: str = ""
    """Source of a record without a source."""
    key: str = ""
    """Key of a record without a key."""
    source_problem: str = ""
    key_problem: str = ""
    """`source_problem` and `key_problem` are the errors for a record that needs the default source or key, if this
    default is invalid. Empty if the default is valid."""
    place: ExternalId | None = None
    """File and line of the record, which identify an invalid record without source and key."""
    timestamp: datetime | None = None
    """Timestamp of a memory without a timestamp. None if a memory must have a timestamp."""
    timezone: str = "UTC"
    """Time zone of local times in a record without `timezone`."""
    deleted_at: datetime | None = None
    """Timestamp of a deletion without a timestamp. None if a deletion must have a timestamp."""
    published: datetime | None = None
    """Time at which the message was first published."""
    position: int = 0
    """Position of the record in its message. If versions of a record have equal timestamps, the last one in the message
    is the current one."""


def schema_version(value: object) -> int:
    """Return the schema version from a number or a text; 0 if invalid."""
    number = storable_name(value, characters=20)
    return int(number) if number.isascii() and number.isdigit() and number == str(int(number)) else 0


def _check_version(value: object) -> int:
    version = schema_version(value)
    if version > SCHEMA_VERSION:
        raise ValueError(f"{version} {IS_NEWER}")
    if version < SCHEMA_VERSION:
        raise ValueError(f"must be {SCHEMA_VERSION}, got {excerpt(value)}")
    return version


def _check_zone(name: str) -> str:
    try:
        zone(name)
    except InvalidRequest as exc:
        raise ValueError(str(exc).removeprefix("timezone ")) from exc
    return name


def text_of_number(value: object) -> object:
    """Convert a whole number to text, because keys and sessions from data warehouses are often numbers.

    Other values are returned unchanged.
    """
    return storable_name(value, characters=KEY_LIMIT) or value if isinstance(value, int | float) else value


def _split_tags(value: object) -> object:
    """Convert tags in a text to a list. The text is a JSON array, or the tags are separated by commas.

    An array that is not JSON, such as `['a', 'b']` or PostgreSQL's `{a,b}`, is returned unchanged, so that the
    validation rejects it.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.startswith("{") and text.endswith("}"):
        return value
    if text.startswith("["):
        items = json_of_text(value)
        return value if items is None else items
    return [tag.strip() for tag in value.split(",") if tag.strip()]


def object_of_text(value: object) -> object:
    """Parse a JSON object that is given as text, because data warehouses export the JSON column `metadata` as text."""
    parsed = json_of_text(value) if isinstance(value, str) else value
    return parsed if isinstance(parsed, dict) else value


def _normalize_operation(value: object) -> object:
    """Write `upsert` or `delete` in lower case. Return other values unchanged, so that an error quotes the value."""
    lower = value.lower() if isinstance(value, str) else value
    return lower if lower in ("upsert", "delete") else value


_Time = Annotated[datetime | None, BeforeValidator(event_time, json_schema_input_type=str)]
OptionalKey = Annotated[Key | None, BeforeValidator(text_of_number, json_schema_input_type=Key | None)]


class MemoryInput(Input):
    """Fields of a memory to store or, if `op` is `delete`, of a deletion. A null or empty optional field is ignored."""

    model_config = ConfigDict(json_schema_extra={"required": ["content"]})

    content: Content | None = Field(
        None, description="At most 100,000 characters, to be understood without this conversation."
    )
    timestamp: _Time = Field(None, description="When it happened: RFC 3339, or a date or local time in `timezone`.")
    tags: Annotated[Tags | None, BeforeValidator(_split_tags, json_schema_input_type=Tags | None)] = Field(
        None, description="Labels to filter by."
    )
    title: Annotated[Title | None, Field(description="One line; else from the content.")] = None
    metadata: Annotated[
        JsonObject | None, BeforeValidator(object_of_text, json_schema_input_type=JsonObject | None)
    ] = Field(None, description="A JSON object to filter by.")
    session: Annotated[Session | None, BeforeValidator(text_of_number, json_schema_input_type=Session | None)] = Field(
        None, description="The conversation or document it is a part of."
    )
    expires_at: _Time = Field(None, description="When it expires; in the forms of `timestamp`.")
    ttl: Annotated[timedelta | None, BeforeValidator(lifetime, json_schema_input_type=str)] = Field(
        None, description="Instead of `expires_at`: how long it is kept, in seconds or as `30d`, `12h`, `P30D`."
    )
    pinned: Annotated[bool, BeforeValidator(parse_boolean, json_schema_input_type=bool)] = Field(
        False, description="Whether it is kept after the namespace's default lifetime."
    )
    timezone: Annotated[Text, AfterValidator(_check_zone), Field(description="IANA name; else UTC.")] = "UTC"
    source: Annotated[Source | None, Field(description="System in which the key is unique, preferably a URI.")] = None
    key: OptionalKey = Field(
        None, description="Name of the record in the source. Another content or time is a new version of the record."
    )
    request_id: Id | None = Field(
        None, description="Id of the request, under which its outcome is reported. By default a new or derived id."
    )
    op: Annotated[Literal["upsert", "delete"], BeforeValidator(_normalize_operation)] = Field(
        "upsert", description="`delete` deletes the record that `source` and `key` name."
    )
    namespace: Annotated[Any, WithJsonSchema({"type": "string"})] = Field(
        None, description="Namespace to store in. Another namespace than the sender's is refused."
    )
    schema_version: Annotated[int, BeforeValidator(_check_version)] = Field(
        SCHEMA_VERSION, description="Version of these fields."
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_blanks(cls, data: Any) -> Any:
        return without_absent(data) if isinstance(data, Mapping) else data

    def request(self, defaults: Defaults) -> Request:
        """Build a request from these fields and the defaults: a request to store a memory, or to delete a record.

        Raises InvalidRequest if a required field is missing or fields contradict each other.
        """
        namespace = defaults.namespace
        if namespace and self.namespace is not None and (wrong := namespace_problem(self.namespace, namespace)):
            raise InvalidRequest(wrong)
        source, key = self.source or defaults.source, self.key or defaults.key
        problems = ("" if self.source else defaults.source_problem, "" if self.key else defaults.key_problem)
        if any(problems):
            raise InvalidRequest("; ".join(filter(None, problems)))
        if key and not source:
            raise InvalidRequest("key needs a source: the system in which the key is unique")
        external_id = ExternalId(source, key) if source and key else None
        if self.op == "delete":
            return self._build_deletion(external_id, defaults)
        return self._build_ingest_request(external_id, defaults)

    def _build_ingest_request(self, external_id: ExternalId | None, defaults: Defaults) -> IngestRequest:
        when = self._timestamp_in_utc(defaults.timestamp, defaults)
        if self.content is None or when is None:
            missing = {"content": self.content, "timestamp": when}
            raise InvalidRequest("; ".join(f"{name} is required" for name, value in missing.items() if value is None))
        content = content_hash(self.content, self.session)
        derived = version_id(external_id.source, external_id.key, content, when) if external_id else None
        fields = {name: getattr(self, name) for name in MEMORY_FIELDS} | {
            "timestamp": when,
            "expires_at": self._expiry(defaults),
        }
        request_id = self.request_id or derived or defaults.new_id()
        # Pub/Sub's times have only milliseconds, so their microseconds are free. Use them to order the memories of one
        # message.
        published = defaults.published and defaults.published + timedelta(microseconds=defaults.position)
        return IngestRequest.of(request_id, external_id=external_id, published=published, **fields)

    def _build_deletion(self, external_id: ExternalId | None, defaults: Defaults) -> Deletion:
        if external_id is None:
            raise InvalidRequest("op delete needs source and key, which name the record to delete")
        when = self._timestamp_in_utc(defaults.deleted_at, defaults)
        if when is None:
            raise InvalidRequest("timestamp is required")
        request_id = self.request_id or deletion_id(external_id.source, external_id.key, when)
        return Deletion(request_id=request_id, external_id=external_id, timestamp=when, published=defaults.published)

    def _timestamp_in_utc(self, default: datetime | None, defaults: Defaults) -> datetime | None:
        return self._in_utc("timestamp", self.timestamp, defaults) or default

    def _expiry(self, defaults: Defaults) -> datetime | None:
        """Return the time at which the memory expires; None if it does not expire.

        The lifetime `ttl` begins when the message was first published, or now if this time is unknown.
        """
        expires_at = self._in_utc("expires_at", self.expires_at, defaults)
        if self.ttl is None:
            return expires_at
        if expires_at is not None:
            raise InvalidRequest("give either expires_at or ttl, and not both")
        return expiry(defaults.published or datetime.now(UTC), self.ttl)

    def _in_utc(self, name: str, moment: datetime | None, defaults: Defaults) -> datetime | None:
        """Return the time in UTC; None if it counts as absent."""
        local = self.timezone if "timezone" in self.model_fields_set else defaults.timezone
        try:
            in_utc = moment and in_zone(moment, zone(local))
        except ValueError as exc:
            raise InvalidRequest(f"{name} {exc}") from exc
        return None if in_utc == ZERO_TIME else in_utc


def read(record: object, defaults: Defaults) -> Reading:
    """Validate a record. Return its ingest request, or a failed request with the error. Unknown fields are ignored."""
    fields = record if isinstance(record, Mapping) else {}
    known_fields = {name: fields[name] for name in MemoryInput.model_fields if name in fields}
    try:
        if not isinstance(record, Mapping):
            raise InvalidRequest(f"a memory must be a JSON object, got {excerpt(record)}")
        return parse(MemoryInput, known_fields, of="a memory").request(defaults)
    except InvalidRequest as exc:
        return failed_request("; ".join([str(exc), *_fixes(fields, str(exc))]), defaults, known_fields)


def _fixes(fields: Mapping[Any, Any], error: str) -> Iterator[str]:
    """Yield advice on how to correct an invalid record.

    There is advice in two cases: a field of the record contains the memory, or a required field has another name in the
    record.
    """
    if fields.get("content") is None and (fix := fix_of_envelope(fields)):
        yield fix
        return
    unknown_names = [name for name in islice(map(str, fields), 100) if name not in MemoryInput.model_fields]
    for required in ("content", "timestamp"):
        if f"{required} is required" in error.split("; "):
            names = (name for name in unknown_names if closest_name(name, (required,)))
            yield from (f"{excerpt(name)} is not read: rename it to {required}" for name in islice(names, 1))
