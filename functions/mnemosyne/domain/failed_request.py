"""Build failed requests for invalid records. Pure."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mnemosyne.domain.memory import FIRST_WORDS, ExternalId, FailedRequest, content_hash
from mnemosyne.domain.names import storable_name
from mnemosyne.domain.parsing import KEY_LIMIT, SESSION_LIMIT, SOURCE_LIMIT, uuid
from mnemosyne.domain.text_checks import storable
from mnemosyne.domain.visible import one_line
from mnemosyne.ids import refused_id

if TYPE_CHECKING:
    from mnemosyne.domain.memory_input import Defaults

CONTENT_HASH: Final = "content_hash"
"""Field that an importer adds to a record that it has refused. The field has the hash of the record's whole content,
because the message has only the beginning of this content."""
_HASH = re.compile("[0-9a-f]{64}")


def failed_request(error: str, defaults: "Defaults", fields: Mapping[str, Any] | None = None) -> FailedRequest:
    """Return a failed request for an invalid record.

    The request id comes from the record. If the record has none, the id is derived from the error and the record's
    source and key or, without these, from the error and the record's position, such as its file and line.
    """
    fields = fields or {}
    source = storable_name(fields.get("source"), characters=SOURCE_LIMIT) or defaults.source
    key = storable_name(fields.get("key"), characters=KEY_LIMIT) or defaults.key
    external_id = ExternalId(source, key) if source and key else defaults.place
    derived = refused_id(external_id.source, external_id.key, error) if external_id else None
    content = fields.get("content")
    words = one_line(content[:FIRST_WORDS].replace("\x00", "")) if isinstance(content, str) else None
    return FailedRequest(
        request_id=_parse_uuid(fields.get("request_id")) or derived or defaults.new_id(),
        error=error,
        external_id=external_id,
        first_words=words or None,
        content_hash=_content_hash(fields),
    )


def _content_hash(fields: Mapping[str, Any]) -> str | None:
    """Return the hash of the record's content and session.

    None if the content is missing, or if the content or the session is invalid. A record that an importer has refused
    has only the beginning of its content. The hash of such a record is the value of its field CONTENT_HASH.
    """
    if CONTENT_HASH in fields:
        known = fields[CONTENT_HASH]
        return known if isinstance(known, str) and _HASH.fullmatch(known) else None
    content, session = fields.get("content"), fields.get("session")
    if isinstance(session, int | float):
        session = storable_name(session, characters=SESSION_LIMIT) or session
    session = None if session == "" else session
    if not isinstance(content, str) or not content or not isinstance(session, str | None):
        return None
    try:
        return content_hash(storable(content), session and storable(session))
    except ValueError:
        return None


def _parse_uuid(value: object) -> UUID | None:
    try:
        parsed = uuid(value)
    except ValueError:
        return None
    return parsed if isinstance(parsed, UUID) and parsed.int else None
