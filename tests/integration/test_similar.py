"""Hints that a new memory is a near-duplicate or states a changed value.

They are measured on paraphrases that are stored among other conversations.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.pool import Pool
from mnemosyne.adapters.embedders.offline import SPACE, OfflineEmbedder
from mnemosyne.cli.local import postgres
from mnemosyne.domain.embedding_space import EmbeddingSpace
from mnemosyne.domain.memory_changes import MemoryChange
from mnemosyne.domain.message import IngestMessage
from mnemosyne.ids import new_id
from mnemosyne.service import ingest
from tests.fakes import NOW, memories_in, request, store_of

EMBEDDER = OfflineEmbedder()
DATA = Path(__file__).parents[1] / "data"


def _read(file: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / file).read_text().splitlines()]


PAIRS = _read("paraphrases/pairs.jsonl")
OTHERS = [
    document["text"] for name in ("conversations", "many_conversations") for document in _read(f"{name}/corpus.jsonl")
]


@pytest.fixture(scope="module")
def pool(cluster: postgres.EmbeddedPostgres, migrated: Callable[[EmbeddingSpace], str]) -> Iterator[Pool]:
    """Connections to the database of the offline embedder."""
    with closing(Pool(connection_factory(cluster.url(postgres.RUNTIME_USER, migrated(SPACE))), 2)) as opened:
        yield opened


@pytest.fixture
def memories(pool: Pool) -> MemoryStore:
    """An empty namespace in the database of the offline embedder."""
    return memories_in(pool, str(new_id()), SPACE)


def _store(memories: MemoryStore, contents: Sequence[str], **fields: object) -> list[UUID]:
    """Store the contents, and return the ids of their memories in the same order.

    A content that was already stored keeps its earlier memory.
    """
    ids: list[UUID] = []
    for start in range(0, len(contents), 500):
        requests = tuple(request(content, **fields) for content in contents[start : start + 500])
        outcomes = ingest.store(
            IngestMessage(memories.namespace, requests), memories=memories, embedder=EMBEDDER
        ).outcomes
        ids += [memory_id for request in requests if (memory_id := outcomes[request.request_id].memory_id)]
    return ids


@pytest.mark.slow
@pytest.mark.parametrize(
    "others",
    # The index is used in a namespace of more than 2,000 memories.
    [pytest.param(300, id="without the vector index"), pytest.param(2_100, id="with it", marks=pytest.mark.nightly)],
)
def test_nine_of_ten_similarity_hints_are_paraphrases(memories: MemoryStore, others: int) -> None:
    ids = _store(memories, [pair["stored"] for pair in PAIRS] + OTHERS[:others])
    again = _store(memories, [pair["said_again"] for pair in PAIRS])
    same = {(new, old) for new, old, pair in zip(again, ids, PAIRS, strict=False) if pair["same"]}
    hinted = {(memory_id, similar.id) for memory_id in again for similar in memories.neighbours(memory_id).similar}
    right = hinted & same
    print(f"{len(right)} of {len(hinted)} hints are right, {len(right)} of {len(same)} found")
    assert len(right) >= 0.9 * len(hinted)
    assert len(right) >= 0.6 * len(same)


@pytest.mark.parametrize(("stored_content", "stated_content"), [
    ("Ada's blood group is A+ since birth", "Ada's blood group is A- since birth"),
    ("An answer takes > 200 ms at night", "An answer takes < 200 ms at night"),
    ("Revenue changed by +5% in May", "Revenue changed by -5% in May"),
    ("Retry while status != 3 holds", "Retry while status == 3 holds"),
    ("The freezer is kept at -20 degrees", "The freezer is kept at 20 degrees"),
    ("The review said 👍 to the plan", "The review said 👎 to the plan"),
])  # fmt: skip
def test_contents_that_differ_in_a_sign_give_no_hint(
    memories: MemoryStore, stored_content: str, stated_content: str
) -> None:
    _store(memories, [stored_content])
    (new,) = _store(memories, [stated_content])
    assert memories.neighbours(new).similar == []


@pytest.mark.parametrize(("stored_content", "stated_content"), [
    ("Der neue Server ist am Montag erreichbar", "Der neue Server ist am Montag nicht erreichbar"),
    ("Der Server startet nach der Sicherung neu", "Der Server startet vor der Sicherung neu"),
    (
        "Le serveur de Paris accepte les connexions des clients",
        "Le serveur de Paris n'accepte pas les connexions des clients",
    ),
    ("Il server di Milano accetta le connessioni", "Il server di Milano non accetta le connessioni"),
    (
        "O servidor de Lisboa aceita as ligações dos clientes",
        "O servidor de Lisboa não aceita as ligações dos clientes",
    ),
    ("De server is maandag voor alle klanten bereikbaar", "De server is maandag niet voor alle klanten bereikbaar"),
    ("Servern tar emot anslutningar från externa kunder", "Servern tar inte emot anslutningar från externa kunder"),
    (
        "Nowy serwer w Warszawie przyjmuje połączenia klientów",
        "Nowy serwer w Warszawie nie przyjmuje połączenia klientów",
    ),
    (
        "Сервер в Москве принимает соединения внешних клиентов",
        "Сервер в Москве не принимает соединения внешних клиентов",
    ),
    ("Ο νέος διακομιστής στην Αθήνα δέχεται συνδέσεις", "Ο νέος διακομιστής στην Αθήνα δεν δέχεται συνδέσεις"),
    ("الخادم الجديد في القاهرة يقبل اتصالات العملاء", "الخادم الجديد في القاهرة لا يقبل اتصالات العملاء"),
    ("नया सर्वर सोमवार को सभी ग्राहकों के लिए खुला है", "नया सर्वर सोमवार को सभी ग्राहकों के लिए खुला नहीं है"),
    ("新服务器星期一可以使用", "新服务器星期一不可以使用"),
    ("新しいサーバーは月曜日にすべてのお客様が使える", "新しいサーバーは月曜日にすべてのお客様が使えない"),
    ("เซิร์ฟเวอร์ใหม่ใช้งานได้ในวันจันทร์", "เซิร์ฟเวอร์ใหม่ใช้งานไม่ได้ในวันจันทร์"),
])  # fmt: skip
def test_a_statement_and_its_negation_are_not_similar_in_any_language(
    memories: MemoryStore, stored_content: str, stated_content: str
) -> None:
    stored, same, new = _store(memories, [stored_content, f"{stored_content}!", stated_content])
    assert [memory.id for memory in memories.neighbours(same).similar] == [stored]
    assert memories.neighbours(new).similar == []


@pytest.mark.parametrize(("stored_content", "stated_content"), [
    ("Le serveur est ouvert pour les clients, la banque", "Le serveur est ouvert pour les clients et la banque"),
    ("El servidor de Madrid acepta conexiones los lunes", "El servidor en Madrid acepta conexiones los lunes"),
    ("De server is voor klanten, leveranciers bereikbaar", "De server is voor klanten en leveranciers bereikbaar"),
    ("Servern tar emot anslutningar från en extern kund", "Servern tar emot anslutningar från extern kund"),
    ("O servidor novo está em uma sala para os clientes", "O servidor novo está na sala para os clientes"),
])  # fmt: skip
def test_a_frequent_word_that_is_a_polarity_word_in_another_language_is_ignored(
    memories: MemoryStore, stored_content: str, stated_content: str
) -> None:
    stored, new = _store(memories, [stored_content, stated_content])
    assert [memory.id for memory in memories.neighbours(new).similar] == [stored]


def test_superseded_memories_and_memories_of_other_namespaces_give_no_hint(memories: MemoryStore) -> None:
    old, older = _store(memories, ["Ada likes green tea very much", "Green tea: Ada likes it very much"])
    (new,) = _store(memories, ["Very much, Ada likes green tea!"])
    assert {memory.id for memory in memories.neighbours(new).similar} == {old, older}
    memories.update(old, MemoryChange(superseded_by=new))
    assert [memory.id for memory in memories.neighbours(new).similar] == [older]
    assert not store_of(memories, "other").neighbours(new).similar


def test_an_earlier_memory_with_another_value_gives_a_hint_until_it_is_superseded(
    memories: MemoryStore,
) -> None:
    first, second = _store(memories, ["The oolong is on shelf 7.", "The oolong is on shelf 8."])
    (new,) = _store(memories, ["The oolong is now on shelf 9, not on 7."])
    assert {memory.id for memory in memories.neighbours(new).may_replace} == {first, second}
    memories.update(first, MemoryChange(superseded_by=new))
    assert [memory.id for memory in memories.neighbours(new).may_replace] == [second]
    assert not store_of(memories, "other").neighbours(new).may_replace


def test_a_memory_with_an_earlier_time_gives_no_hint_at_a_later_one(memories: MemoryStore) -> None:
    (later,) = _store(memories, ["The oolong is on shelf 9."], timestamp=NOW)
    (new,) = _store(memories, ["The oolong is on shelf 7."], timestamp=NOW - timedelta(days=1))
    assert not memories.neighbours(new).may_replace
    assert [memory.id for memory in memories.neighbours(later).may_replace] == [new]


def test_contents_are_compared_up_to_a_limit_of_bytes(memories: MemoryStore) -> None:
    _store(memories, [f"The oolong is on shelf 7. {number} {'tea ' * 10_000}" for number in range(3)])
    (new,) = _store(memories, ["The oolong is on shelf 9."])
    assert len(memories.neighbours(new).earlier) == 1
