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
        Field(
            description="The memory itself, stored verbatim: 1 to 100,000 characters. Write it so that it can be "
            "understood without this conversation. A first `TITLE:` line and a `TAGS:` line (comma-separated) in "
            "it are read as title and tags, 50 at most."
        ),
    ]
    timestamp: Annotated[
        Instant,
        Field(
            description="When it happened, RFC 3339 with an offset or Z, such as 2026-05-20T14:30:00Z. Search by "
            "time goes by this, to the microsecond."
        ),
    ]
    tags: Annotated[Tags | None, Field(description="Labels to filter by later, such as ['project-x', 'decision'].")] = (
        None
    )
    title: Annotated[Title | None, Field(description="One line; otherwise taken from the content.")] = None
    metadata: Annotated[
        JsonObject | None, Field(description="Any JSON object to keep beside the memory; not searched.")
    ] = None

    session: Annotated[
        Session | None,
        Field(
            description="Which conversation or document it is a part of: any name, the same for all its parts. Each "
            "is then found by what stands beside it too."
        ),
    ] = None

    def request(self, request_id: UUID, origin: Origin | None = None) -> IngestRequest:
        """Return the request, under that id."""
        return IngestRequest.of(request_id, origin=origin, **{name: getattr(self, name) for name in MEMORY_FIELDS})
