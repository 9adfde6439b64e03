"""`rate_memory` and `memory_stats`: rate memories, and count them."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BeforeValidator, Field, WithJsonSchema

from mnemosyne.domain import rate_limit
from mnemosyne.domain.embedding_space import REMEDY, language_warning
from mnemosyne.domain.memory_changes import GivenRating
from mnemosyne.domain.parsing import Id, Input, Text
from mnemosyne.domain.principal import Principal
from mnemosyne.domain.text_checks import excerpt
from mnemosyne.mcp.tool import Reply, Result, tool
from mnemosyne.mcp.tools.read import no_memory
from mnemosyne.mcp.tools.update import is_none
from mnemosyne.ports.services import Services


def _parse_rating(value: object) -> object:
    """Return the rating; None for the word `none`, which withdraws the rating."""
    if not isinstance(value, str):
        return value
    if is_none(value):
        return None
    raise ValueError(f"must be an integer between -1 and 1, got {excerpt(value)}; 'none' withdraws your rating")


class RateArguments(Input):
    """A rating of a memory."""

    id: Annotated[Id, Field(description="Its id.")]
    rating: Annotated[
        int | None,
        Field(ge=-1, le=1, description="1 helped, 0 neutral, -1 misled."),
        BeforeValidator(_parse_rating),
        WithJsonSchema({"type": "integer", "minimum": -1, "maximum": 1}),
    ]
    reason: Annotated[Text | None, Field(max_length=1000, description="Why.")] = None


class Rated(Result):
    """The memory's quality in [0, 1] before and after the rating, and the caller's rating.

    `helped` is the number of ratings with the value 1, and `misled` the number of ratings with the value -1.
    """

    id: UUID
    quality_before: float
    quality_after: float
    rating: int | None
    helped: int
    misled: int


@tool(
    title="Rate a memory",
    description="Say whether a memory helped; searches rank by quality.",
    result=Rated,
    unlisted=("reason",),
    idempotent=True,
)
def rate_memory(arguments: RateArguments, principal: Principal, services: Services) -> Reply:
    rating = GivenRating(
        rated_by=principal.id,
        rater_name=principal.name or principal.id,
        rating=arguments.rating,
        reason=arguments.reason,
    )
    rated = services.memories_of(principal.namespace).rate(arguments.id, rating)
    if rated is None:
        raise no_memory(arguments.id)
    return Reply(
        Rated(
            id=arguments.id,
            quality_before=round(rated.before, 6),
            quality_after=round(rated.after, 6),
            rating=rating.rating,
            helped=rated.helped,
            misled=rated.misled,
        ),
        has_stored_text=False,
    )


MOST_TAGS = 20
"""Number of tags that the database counts for `memory_stats`: the most frequent ones."""


class StatsArguments(Input):
    """Arguments of `memory_stats`."""

    limit: Annotated[int, Field(ge=1, le=MOST_TAGS, description="How many tags.")] = MOST_TAGS


class StatsResult(Result):
    """Counts of the namespace's memories, tags and requests.

    `tags` has the most frequent tags, and `total_tags` the number of all tags of the newest 5,000 memories.
    """

    memories: int
    tags: dict[str, int]
    total_tags: int
    pending: int
    dead_lettered: int
    dead_letters: int
    oldest: datetime | None
    newest: datetime | None
    embedding_model: str
    embedding_dimension: int
    storage_bytes: int
    languages: dict[str, int]
    warning: str | None = None
    quota: dict[str, int | None]


@tool(
    title="The memory in figures",
    description="Counts of memories, tags and waiting requests; the quota.",
    result=StatsResult,
    units=lambda arguments: rate_limit.COUNTING,
    read_only=True,
)
def memory_stats(arguments: StatsArguments, principal: Principal, services: Services) -> Reply:
    memories = services.memories_of(principal.namespace)
    stats = memories.stats()
    tags = dict(sorted(stats.tags.items(), key=lambda tag: -tag[1])[: arguments.limit])
    languages = memories.languages()
    warning = language_warning(languages, services.embedding_space.provider)
    return Reply(
        StatsResult(
            **asdict(stats) | {"tags": tags},
            languages=dict(languages.memories),
            warning=warning and f"{warning}: {REMEDY}",
            embedding_model=services.embedding_space.model,
            embedding_dimension=services.embedding_space.dimension,
        ),
        has_stored_text=bool(tags),
    )
