"""Dead letters in the store: redrive to the queue, and what happens to the redelivered message."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.adapters.database.owner_store import Quotas
from mnemosyne.domain.dead_letter import DeadLetter, DeadLetterChoice, Redrivable
from mnemosyne.domain.memory import FailedRequest, IngestRequest, IngestState
from mnemosyne.domain.message import encode
from mnemosyne.domain.object_import import OBJECT_NOTIFICATION
from mnemosyne.domain.pubsub_message import LETTER_ID, Published
from mnemosyne.errors import Conflict, InvalidRequest, ItemUnavailable, NotFound, Unavailable
from mnemosyne.service import dead_letters, redrives
from mnemosyne.service.deliveries import Push, give_up, store
from mnemosyne.service.redrives import Redriven
from tests.fakes import FakeQueue, FakeServices, request
from tests.memories import make_dead_letter
from tests.shared_database import SharedDatabase

DUE = DeadLetterChoice(redrivable=Redrivable.DUE)


class System(FakeServices):
    """The functions that use one store, with a queue whose messages the test delivers itself."""

    def publish(self, *requests: IngestRequest, namespace: str = "ns", message_id: str = "1") -> Push:
        data, attributes = encode(namespace, requests, "")
        if not namespace:
            del attributes["namespace"]
        return Push(Published(message_id=message_id, data=data, attributes=attributes), 1)

    def republished(self) -> list[Push]:
        """Take the messages from the queue. Each gets a new message id, as in Pub/Sub."""
        delivery = [
            Push(Published(message_id=f"again {number}", data=data, attributes=attributes), 1)
            for number, (data, attributes) in enumerate(self.queue.messages)
        ]
        self.queue.messages.clear()
        return delivery

    def give_up(self, push: Push) -> None:
        """Dead-letter a message with a text for which the embedder fails."""
        self.embedder.fault = ItemUnavailable("the model fails at this text")
        try:
            with suppress(ItemUnavailable):
                give_up(push, self)
            give_up(push, self)
        finally:
            self.embedder.fault = None

    def store(self, push: Push) -> None:
        store(push, self)

    def redrive(self, choice: DeadLetterChoice = DUE, **options: object) -> list[Redriven]:
        return list(
            redrives.redrive_chosen(
                choice,
                memories=self.memories_of(str(options.pop("namespace", "ns"))),
                queue=self.queue,
                **options,  # type: ignore[arg-type]
            )
        )

    def letters(self, namespace: str = "ns") -> Sequence[DeadLetter]:
        return self.memories_of(namespace).dead_letters(1000)

    def state(self, ingest_request: IngestRequest, namespace: str = "ns") -> IngestState:
        return self.memories_of(namespace).statuses([ingest_request.request_id])[ingest_request.request_id].state


@pytest.fixture
def system(memories: MemoryStore) -> System:
    return System(memories)


@pytest.fixture
def ingest_request() -> IngestRequest:
    return request("Ada prefers tea.")


@pytest.fixture
def letter(system: System, ingest_request: IngestRequest) -> DeadLetter:
    """A dead letter with one request."""
    system.give_up(system.publish(ingest_request))
    (kept_letter,) = system.letters()
    return kept_letter


def test_a_redriven_letter_is_in_flight_until_its_message_is_stored(
    system: System, letter: DeadLetter, ingest_request: IngestRequest
) -> None:
    assert [redrive.problem for redrive in system.redrive()] == [""]
    (in_flight,) = system.letters()
    assert (in_flight.redriven_at is None, system.state(ingest_request)) == (False, IngestState.QUEUED)
    (again,) = system.republished()
    system.store(again)
    assert (list(system.letters()), system.state(ingest_request)) == ([], IngestState.STORED)


def test_a_letter_in_flight_is_not_redriven_again(system: System, letter: DeadLetter) -> None:
    system.redrive()
    assert system.redrive() == []
    assert system.redrive(replace(DUE, redrivable=Redrivable.NOW)) == []
    with pytest.raises(Conflict, match="has no outcome yet"):
        redrives.redrive(letter.message_id, memories=system.memories, queue=system.queue)
    assert len(system.republished()) == 1


def test_a_message_that_fails_again_updates_its_letter_and_keeps_the_time_of_its_first_failure(
    system: System, letter: DeadLetter, ingest_request: IngestRequest
) -> None:
    for count in (1, 2, 3):
        system.redrive(replace(DUE, redrivable=Redrivable.NOW))
        (again,) = system.republished()
        system.give_up(again)
        (kept_letter,) = system.letters()
        assert (kept_letter.message_id, kept_letter.dead_lettered_at) == (letter.message_id, letter.dead_lettered_at)
        assert (kept_letter.redrives, kept_letter.failures, kept_letter.redriven_at) == (count, count + 1, None)
        assert (kept_letter.attributes, system.state(ingest_request)) == (letter.attributes, IngestState.DEAD_LETTERED)


def test_a_request_names_its_own_letter_if_another_message_has_the_same_id(system: System) -> None:
    requests = [request("tea"), request("coffee")]
    for ingest_request in requests:
        for _ in range(2):  # the message may be delivered again
            system.give_up(system.publish(ingest_request, message_id="1"))
    letters = {listed.request_id: listed.dead_letter for listed in system.memories.ingest_requests(None, 10)}
    for ingest_request in requests:
        letter = system.memories.dead_letter(str(letters[ingest_request.request_id]))
        assert letter and ingest_request.content.encode() in letter.data
    assert len(system.letters()) == 2


@pytest.mark.parametrize("redriven", [False, True], ids=["an attempt failed before", "a redriven letter"])
def test_the_cause_of_a_crash_replaces_the_error_of_an_earlier_attempt(
    system: System, ingest_request: IngestRequest, monkeypatch: pytest.MonkeyPatch, redriven: bool
) -> None:
    push = system.publish(ingest_request)
    if redriven:
        system.give_up(push)
        system.redrive()
        (push,) = system.republished()
    else:
        system.embedder.fault = Unavailable("the model does not answer")
        with pytest.raises(Unavailable):
            system.store(push)
    monkeypatch.setattr(system.embedder, "fault", KeyError("vector"))
    give_up(push, system)
    (letter,) = system.letters()
    status = system.memories.statuses([ingest_request.request_id])[ingest_request.request_id]
    assert (letter.cause, status.error) == ("a bug in Mnemosyne: KeyError", "a bug in Mnemosyne: KeyError")


def test_the_log_names_the_letter_of_a_message_that_fails_again(
    system: System, letter: DeadLetter, caplog: pytest.LogCaptureFixture
) -> None:
    system.redrive()
    (again,) = system.republished()
    caplog.clear()
    system.give_up(again)
    named = {vars(record)["fields"]["message_id"] for record in caplog.records if record.msg == "dead_lettered"}
    assert named == {letter.message_id}


def test_a_letter_that_failed_again_backs_off_twice_as_long_after_each_redrive(
    system: System, letter: DeadLetter
) -> None:
    delays = []
    for _ in range(3):
        system.redrive(replace(DUE, redrivable=Redrivable.NOW))
        (again,) = system.republished()
        system.give_up(again)
        (kept_letter,) = system.letters()
        assert kept_letter.due_at and kept_letter.last_failed_at
        delays.append(kept_letter.due_at - kept_letter.last_failed_at)
    assert delays == [timedelta(minutes=10), timedelta(minutes=20), timedelta(minutes=40)]
    assert system.redrive() == []


@pytest.mark.parametrize("by", ["id", "now"])
def test_a_dead_letter_in_back_off_is_redriven_if_it_is_named_or_with_the_option_now(
    system: System, letter: DeadLetter, by: str
) -> None:
    system.redrive()
    system.give_up(system.republished()[0])
    if by == "id":
        redrives.redrive(letter.message_id, memories=system.memories, queue=system.queue)
    else:
        system.redrive(replace(DUE, redrivable=Redrivable.NOW))
    assert len(system.republished()) == 1


def test_each_of_ten_letters_that_fail_at_once_is_returned_once(system: System) -> None:
    for number in range(10):
        system.give_up(system.publish(request(f"memory {number}"), message_id=f"{number}"))
    before = {letter.message_id: letter.dead_lettered_at for letter in system.letters()}
    dry = system.redrive(dry_run=True)
    returned = []
    for redrive in redrives.redrive_chosen(DUE, memories=system.memories, queue=system.queue):
        returned.append(redrive.message_id)
        for again in system.republished():
            system.give_up(again)
    assert sorted(returned) == sorted(before) == sorted(redrive.message_id for redrive in dry)
    assert {letter.message_id: letter.dead_lettered_at for letter in system.letters()} == before


def test_a_dead_letter_stored_during_a_redrive_is_left_for_the_next_redrive(system: System, letter: DeadLetter) -> None:
    run = redrives.redrive_chosen(DUE, memories=system.memories, queue=system.queue)
    first = next(run).message_id
    system.give_up(system.publish(request("later"), message_id="0"))
    assert [first, *(redrive.message_id for redrive in run)] == [letter.message_id]


def _crash_after_the_mark(system: System, letter: DeadLetter, ingest_request: IngestRequest) -> list[Push]:
    system.memories.mark_redriven(letter.message_id, [ingest_request.request_id], into="ns", now=False)
    return []


def _crash_after_publishing(system: System, letter: DeadLetter, ingest_request: IngestRequest) -> list[Push]:
    system.redrive()
    return system.republished()


def _crash_after_the_outcome(system: System, letter: DeadLetter, ingest_request: IngestRequest) -> list[Push]:
    system.redrive()
    (again,) = system.republished()
    plain = {name: value for name, value in again.message.attributes.items() if name != LETTER_ID}
    system.store(replace(again, message=replace(again.message, attributes=plain)))  # the dead letter is not deleted
    return [again]


def _crash_before_the_acknowledgement(system: System, letter: DeadLetter, ingest_request: IngestRequest) -> list[Push]:
    system.redrive()
    (again,) = system.republished()
    system.store(again)
    return [again]


CRASHES = [
    _crash_after_the_mark,
    _crash_after_publishing,
    _crash_after_the_outcome,
    _crash_before_the_acknowledgement,
]


@pytest.mark.parametrize("crash", CRASHES)
def test_a_crash_during_a_redrive_loses_nothing_and_stores_nothing_twice(
    system: System,
    letter: DeadLetter,
    ingest_request: IngestRequest,
    crash: Callable[[System, DeadLetter, IngestRequest], list[Push]],
    a_day_later: Callable[[], None],
) -> None:
    for again in crash(system, letter, ingest_request):
        system.store(again)
    a_day_later()
    system.redrive()
    for again in system.republished():
        system.store(again)
    assert (list(system.letters()), system.state(ingest_request)) == ([], IngestState.STORED)
    assert system.memories.quota().memories == 1


@pytest.mark.parametrize(
    ("events", "pending", "dead_lettered"),
    [
        ("", 0, 1),
        ("mark", 1, 0),
        ("mark, a day", 0, 1),
        ("mark, drop, a day", 0, 1),
        ("mark, attempt", 1, 0),
        ("mark, attempt, a day", 1, 0),
        ("mark, a day, redrive", 1, 0),
        ("mark, a day, redrive, store", 0, 0),
    ],
)
def test_the_counts_of_requests_agree_with_their_states(
    system: System,
    letter: DeadLetter,
    ingest_request: IngestRequest,
    a_day_later: Callable[[], None],
    events: str,
    pending: int,
    dead_lettered: int,
) -> None:
    happen: dict[str, Callable[[], object]] = {
        "mark": lambda: _crash_after_the_mark(system, letter, ingest_request),
        "drop": lambda: system.memories.drop_dead_letters([letter.message_id]),
        "attempt": lambda: system.memories.record_attempt(
            [FailedRequest(request_id=ingest_request.request_id, error="away")]
        ),
        "a day": a_day_later,
        "redrive": system.redrive,
        "store": lambda: system.store(*system.republished()),
    }
    for event in filter(None, events.split(", ")):
        happen[event]()
    stats = system.memories.stats()
    assert (stats.pending, stats.dead_lettered) == (pending, dead_lettered)
    states = IngestState.QUEUED, IngestState.DEAD_LETTERED
    listed = [len(system.memories.ingest_requests(state, 10)) for state in states]
    assert listed == [pending, dead_lettered]
    expected = IngestState.QUEUED if pending else IngestState.DEAD_LETTERED if dead_lettered else IngestState.STORED
    assert system.state(ingest_request) is expected


@pytest.mark.parametrize("crash", CRASHES[:2])
def test_a_message_that_fails_after_a_crash_leaves_one_letter(
    system: System,
    letter: DeadLetter,
    ingest_request: IngestRequest,
    crash: Callable[[System, DeadLetter, IngestRequest], list[Push]],
    a_day_later: Callable[[], None],
) -> None:
    for again in crash(system, letter, ingest_request):
        system.give_up(again)
    a_day_later()
    system.redrive(replace(DUE, redrivable=Redrivable.NOW))
    for again in system.republished():
        system.give_up(again)
        system.give_up(again)  # delivered twice
    (kept_letter,) = system.letters()
    assert (kept_letter.message_id, kept_letter.dead_lettered_at) == (letter.message_id, letter.dead_lettered_at)
    assert system.state(ingest_request) is IngestState.DEAD_LETTERED


@pytest.fixture
def a_day_later(shared_database: SharedDatabase) -> Callable[[], None]:
    """Function that moves times in the database one day into the past, so that marks and back-off times expire."""

    def pass_() -> None:
        shared_database.owner.run("UPDATE dead_letters SET redriven_at = redriven_at - interval '24 hours'")
        shared_database.owner.run(
            "UPDATE ingest_requests SET updated_at = updated_at - interval '24 hours',"
            " redriven_at = redriven_at - interval '24 hours'"
        )

    return pass_


def test_a_failed_second_delivery_counts_once(system: System, letter: DeadLetter) -> None:
    system.redrive()
    (again,) = system.republished()
    for _ in range(3):
        system.give_up(again)
    (kept_letter,) = system.letters()
    assert kept_letter.failures == 2


@pytest.mark.parametrize("error", [Unavailable("the queue is away"), KeyboardInterrupt()], ids=["fault", "interrupted"])
def test_a_dead_letter_whose_message_was_not_published_is_unchanged(
    system: System,
    letter: DeadLetter,
    ingest_request: IngestRequest,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(system.queue, "republish", fail)
    with pytest.raises(type(error)):
        redrives.redrive(letter.message_id, memories=system.memories, queue=system.queue)
    (kept_letter,) = system.letters()
    assert (kept_letter.redriven_at, kept_letter.redrives, kept_letter.failures) == (None, 0, 1)
    assert system.state(ingest_request) is IngestState.DEAD_LETTERED


def test_a_letter_stays_while_one_of_its_requests_has_no_outcome(system: System) -> None:
    first, second = request("a"), request("b")
    system.give_up(system.publish(first, second))
    system.redrive()
    (again,) = system.republished()
    system.store(system.publish(first, message_id="2"))
    letter_id = again.message.letter_id
    assert letter_id
    system.memories.conclude_dead_letter(letter_id, [first.request_id, second.request_id])
    assert len(system.letters()) == 1
    system.store(again)
    assert list(system.letters()) == []


def test_a_letter_over_quota_that_fails_again_is_kept_beyond_the_limit_of_letters(
    system: System, shared_database: SharedDatabase
) -> None:
    quotas = Quotas(shared_database.connect_as_owner)
    quotas.set("ns", {"memories": 0})
    ingest_request = request("a")
    system.store(system.publish(ingest_request))
    system.redrive()
    for number in range(dead_letters.OVER_QUOTA_LIMIT):
        system.memories.store_dead_letter(_letter(f"other {number}"))
    (again,) = system.republished()
    system.store(again)
    kept_letters = [letter for letter in system.letters() if not letter.message_id.startswith("other")]
    assert [(letter.message_id, letter.redriven_at, letter.failures) for letter in kept_letters] == [("1", None, 2)]
    quotas.set("ns", {"memories": 1})
    system.redrive(DeadLetterChoice(message_ids=("1",), redrivable=Redrivable.NOW))
    (again,) = system.republished()
    system.store(again)
    assert system.state(ingest_request) is IngestState.STORED
    assert system.memories.dead_letter("1") is None


def test_a_dead_letter_that_gets_an_unreported_part_later_is_not_a_new_one(system: System) -> None:
    letter = _letter("1")
    assert system.memories.store_dead_letter(letter, has_unreported_part=False) == ("1", True)
    assert system.memories.store_dead_letter(letter) == ("1", False)
    assert [kept.has_unreported_part for kept in system.letters()] == [True]


def test_a_dead_letter_without_a_namespace_is_redriven_into_a_namespace_and_updated_there(system: System) -> None:
    ingest_request = request("whose?")
    data, _ = encode("ns", [ingest_request], "")
    system.store(Push(Published(message_id="7", data=data, attributes={}), 1))
    (letter,) = system.letters("")
    assert [redrive.problem for redrive in system.redrive(namespace="", into="ada")] == [""]
    (again,) = system.republished()
    system.give_up(again)
    (kept_letter,) = system.letters("")
    assert (kept_letter.message_id, kept_letter.failures, kept_letter.dead_lettered_at) == (
        "7",
        2,
        letter.dead_lettered_at,
    )
    assert (list(system.letters("ada")), system.state(ingest_request, "ada")) == ([], IngestState.DEAD_LETTERED)
    system.redrive(replace(DUE, redrivable=Redrivable.NOW), namespace="", into="ada")
    (again,) = system.republished()
    system.store(again)
    assert (list(system.letters("")), system.state(ingest_request, "ada")) == ([], IngestState.STORED)


def test_letters_are_redriven_into_their_own_namespace_only(system: System, letter: DeadLetter) -> None:
    (refused,) = system.redrive(into="eve")
    assert "must be redriven into its namespace 'ns', got 'eve'" in refused.problem
    assert system.republished() == []


def test_a_letter_dropped_in_flight_becomes_a_new_one_if_it_fails_again(system: System, letter: DeadLetter) -> None:
    system.redrive()
    (again,) = system.republished()
    assert system.memories.drop_dead_letters([letter.message_id]) == 1
    system.give_up(again)
    (kept_letter,) = system.letters()
    assert (kept_letter.message_id, kept_letter.redrives) == (again.message.message_id, 0)
    (listed,) = system.memories.ingest_requests(None, 10)
    assert listed.dead_letter == kept_letter.message_id
    assert LETTER_ID not in kept_letter.attributes


def test_letters_are_dropped_by_cause_and_in_their_namespace_only(system: System) -> None:
    for message_id, cause in (("1", "quota"), ("2", "quota"), ("3", "other")):
        for namespace in ("ns", "ada"):
            system.memories_of(namespace).store_dead_letter(_letter(message_id, cause))
    ids = system.memories.dead_letter_ids(DeadLetterChoice(cause="quota"))
    assert system.memories.drop_dead_letters(ids) == 2
    assert [letter.message_id for letter in system.letters()] == ["3"]
    assert len(system.letters("ada")) == 3


def test_a_guessed_id_or_another_namespace_deletes_no_dead_letter(system: System, letter: DeadLetter) -> None:
    system.redrive()
    (again,) = system.republished()
    real = again.message.letter_id
    assert real
    system.memories.conclude_dead_letter(UUID(int=7), [])
    system.memories_of("other").conclude_dead_letter(real, [])
    assert len(system.letters()) == 1


def _letter(message_id: str, cause: str = "given up") -> DeadLetter:
    letter = make_dead_letter(message_id)
    return replace(letter, data=message_id.encode(), attributes={"namespace": "ns"}, cause=cause)


BAD = {
    "an object's notification": ({OBJECT_NOTIFICATION: "true"}, "copy the object onto itself"),
    "too many": ({f"a{n}": "x" for n in range(100)}, "at most 100 attributes, got 10"),
}


@pytest.mark.parametrize(("attributes", "why"), BAD.values(), ids=BAD.keys())
def test_a_dead_letter_that_cannot_be_published_does_not_stop_others_and_a_dry_run_reports_it(
    system: System, attributes: dict[str, str], why: str
) -> None:
    for number in (1, 2, 3):
        system.give_up(system.publish(request(f"memory {number}"), message_id=f"{number}"))
    bad = replace(_letter("bad"), attributes=attributes)
    system.memories.store_dead_letter(bad)
    for dry_run in (True, False):
        problems = {redrive.message_id: redrive.problem for redrive in system.redrive(dry_run=dry_run)}
        assert why in problems.pop("bad")
        assert problems == {"1": "", "2": "", "3": ""}
    assert len(system.republished()) == 3
    with pytest.raises(InvalidRequest):
        redrives.redrive("bad", memories=system.memories, queue=system.queue)


def test_an_unexpected_error_does_not_stop_the_redrive_of_other_dead_letters(system: System) -> None:
    class Chokes(FakeQueue):
        def republish(self, data: bytes, attributes: Mapping[str, str]) -> None:
            if data == b"1":
                raise TypeError("an argument of that name was given twice")
            super().republish(data, attributes)

    system.queue = Chokes()
    for message_id in ("1", "2"):
        system.memories.store_dead_letter(_letter(message_id))
    assert [redrive.problem for redrive in system.redrive()] == [
        "1: TypeError: an argument of that name was given twice",
        "",
    ]
    assert system.letters()[0].redriven_at is None


def test_a_redrive_ends_if_the_queue_stays_unavailable(system: System) -> None:
    for number in range(9):
        system.memories.store_dead_letter(_letter(f"{number}"))
    system.queue.away = True
    assert len(system.redrive()) == redrives.MOST_UNAVAILABLE
    assert all(letter.redriven_at is None for letter in system.letters())


def test_an_unknown_dead_letter_id_is_reported(system: System) -> None:
    (problem,) = system.redrive(DeadLetterChoice(message_ids=("9",), redrivable=Redrivable.NOW))
    assert "no dead letter has the message id '9'" in problem.problem
    with pytest.raises(NotFound):
        redrives.redrive("9", memories=system.memories, queue=system.queue)


def test_causes_that_differ_in_ids_and_numbers_are_one_group(system: System) -> None:
    causes = [
        "given up after 5 deliveries",
        "given up after 20 deliveries",
        "memories[3] has the request_id 0d2f6d4e-5a3c-4f0e-9b1d-0123456789ab of another memory",
        "memories[41] has the request_id AAAAAAAA-5a3c-4f0e-9b1d-0123456789ab of another memory",
        "the quota of 1,000 memories is used up",
    ]
    for number, cause in enumerate(causes):
        system.memories.store_dead_letter(_letter(f"{number}", cause))
    groups = {summary.cause: summary.letters for summary in system.memories.dead_letter_causes()}
    assert groups == {
        "given up after # deliveries": 2,
        "memories[#] has the request_id # of another memory": 2,
        "the quota of # memories is used up": 1,
    }
    for cause, letters in groups.items():
        assert len(system.memories.dead_letter_ids(DeadLetterChoice(cause=cause.upper()))) == letters
