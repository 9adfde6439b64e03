"""What a search answers with of what the store has found."""

from mnemosyne.domain.message import IngestMessage
from mnemosyne.domain.search import Filters, Hit, SearchMode, SearchQuery
from mnemosyne.service import ingest, search
from tests.fakes import FakeServices, request


def _found(services: FakeServices, query: SearchQuery) -> list[Hit]:
    return list(search.search("ns", query, memories=services.memories, embedder=services.embedder).ranking.hits)


def _stored(*contents: str) -> FakeServices:
    services = FakeServices()
    message = IngestMessage("ns", tuple(request(content, tags=("t",)) for content in contents))
    ingest.store(message, memories=services.memories, embedder=services.embedder)
    return services


def test_memories_of_the_same_words_are_one_hit_that_names_the_others() -> None:
    services = _stored(
        "Ada likes the green tea.", "Ada likes green tea", "ADA LIKES GREEN TEA!", "Ada likes black tea."
    )
    hits = _found(services, SearchQuery(query="green tea", mode=SearchMode.HYBRID))
    assert len(hits) == 2
    green, black = sorted(hits, key=lambda hit: len(hit.near_duplicates), reverse=True)
    assert len({green.id, *green.near_duplicates}) == 3
    assert (black.content, black.near_duplicates) == ("Ada likes black tea.", ())


def test_a_greeting_said_twice_is_two_memories() -> None:
    assert len(_found(_stored("Ada: Good morning!", "Ada: Good morning."), SearchQuery(query="good morning"))) == 2


def test_another_order_of_the_same_words_is_another_memory() -> None:
    services = _stored("Ada called Bob on Monday.", "Bob called Ada on Monday.")
    assert len(_found(services, SearchQuery(query="who called Bob?"))) == 2


def test_what_is_listed_or_searched_for_literally_is_whole() -> None:
    services = _stored("Ada likes green tea.", "Ada likes green tea")
    assert len(_found(services, SearchQuery(query="green", mode=SearchMode.EXACT))) == 2
    assert len(_found(services, SearchQuery(query=None, filters=Filters(tags=("t",))))) == 2
