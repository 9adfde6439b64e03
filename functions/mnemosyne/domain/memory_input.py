"""One memory as it is handed over, by an agent, a publisher or an importer: parsed and bounded. Pure."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from mnemosyne.domain.memory import MEMORY_FIELDS, IngestRequest, Origin
from mnemosyne.domain.parsing import Content, Input, Instant, JsonObject, Session, Tags, Title


class MemoryInput(Input):
    """One memory as somebody hands it over."""

    content: Annotated[
        Content,
        Field(description="At most 100,000 characters, to be understood without this conversation."),
    ]
    timestamp: Annotated[
        Instant,
        Field(description="When it happened, in RFC 3339 with an offset or Z."),
    ]
    tags: Annotated[Tags | None, Field(description="Labels to filter by.")] = None
    title: Annotated[Title | None, Field(description="One line; else taken from the content.")] = None
    metadata: Annotated[JsonObject | None, Field(description="A JSON object to filter by.")] = None

    session: Annotated[
        Session | None,
        Field(description="The conversation or document it is a part of."),
    ] = None

    def request(self, request_id: UUID, origin: Origin | None = None) -> IngestRequest:
        """Return the request, under that id."""
        return IngestRequest.of(request_id, origin=origin, **{name: getattr(self, name) for name in MEMORY_FIELDS})
