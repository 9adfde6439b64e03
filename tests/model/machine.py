"""The state machine. It does the same operations on the functions and on the model, and compares their states."""

from collections.abc import Callable, Collection
from contextlib import suppress
from copy import deepcopy
from typing import Any, ClassVar
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from mnemosyne.domain.message import decode
from mnemosyne.domain.pubsub_message import LETTER_ID, Published
from tests.model.messages import TROUBLESOME, messages, published
from tests.model.process import Killed
from tests.model.requests import FINAL, AgainError, CrashedError
from tests.model.specification import Model
from tests.model.world import Database, World

INDEX = st.integers(0, 5)


class Machine(RuleBasedStateMachine):
    """State machine whose steps publish, deliver, fail, crash, delete and redrive."""

    database: ClassVar[Callable[[], Database]]
    sequences: ClassVar[int]
    """Number of sequences of operations that have been started."""

    def __init__(self) -> None:
        super().__init__()
        type(self).sequences += 1
        self.world = World(type(self).database())
        self.model = Model()
        self.dropped = False

    def teardown(self) -> None:
        """Deliver everything that is left, and check that every accepted request has an outcome."""
        try:
            self._drain()
        finally:
            self.world.close()

    @rule(message=messages())
    def publish(self, message: tuple[bytes, dict[str, str]]) -> None:
        """Publish a message."""
        topic = self.world.topic
        topic.add(published(self.world.namespace, len(topic.published_messages), *message))

    @precondition(lambda self: self.world.topic.published_messages)
    @rule(index=INDEX, give_up=st.booleans(), late=st.booleans(), keep=st.booleans())
    def deliver(self, index: int, *, give_up: bool, late: bool, keep: bool) -> None:
        """Deliver a message. With `keep`, the message is delivered again later although it was acknowledged."""
        message = self._message(index)
        acknowledged = self.world.deliver(message, give_up=give_up, late=late and give_up)
        assert acknowledged is self._delivered(self.model, message, give_up=give_up, late=late and give_up)
        self._settle(message, acknowledged=acknowledged and not keep)

    @precondition(lambda self: self.world.topic.published_messages)
    @rule(index=INDEX, give_up=st.booleans(), data=st.data())
    def deliver_while_something_happens(self, index: int, *, give_up: bool, data: st.DataObject) -> None:
        """Deliver a message, and do something else while its texts are embedded."""
        message = self._message(index)
        in_world, in_model = self._something(data)
        acknowledged = self.world.deliver(message, give_up=give_up, meanwhile=in_world)
        expected = self._delivered(self.model, message, give_up=give_up, meanwhile=in_model)
        assert acknowledged is expected
        self._settle(message, acknowledged=acknowledged)

    @precondition(lambda self: self.world.topic.published_messages)
    @rule(index=INDEX, give_up=st.booleans(), at=st.integers(1, 25), after=st.booleans())
    def deliver_and_crash(self, index: int, *, give_up: bool, at: int, after: bool) -> None:
        """Deliver a message to a process that is killed at one of its statements."""
        message = self._message(index)
        self._crash(
            lambda: self.world.deliver(message, give_up=give_up),
            lambda model: self._delivered(model, message, give_up=give_up),
            at=at,
            after=after,
        )
        self._settle(message, acknowledged=False)

    @precondition(lambda self: self.model.letters)
    @rule(index=INDEX, now=st.booleans(), away=st.booleans())
    def redrive(self, index: int, *, now: bool, away: bool) -> None:
        """Redrive a dead letter, with or without an available topic."""
        message_id = self._letter(index)
        before, self.world.topic.away = len(self.world.topic.published_messages), away
        is_redriven = self.world.redrive(message_id, now=now)
        self.world.topic.away = False
        assert is_redriven is self.model.redrive(message_id, now=now, queue_away=away)
        assert len(self.world.topic.published_messages) == before + is_redriven
        self._name_letter(message_id, before)
        self._compare()

    @precondition(lambda self: self.model.letters)
    @rule(index=INDEX, at=st.integers(1, 12), after=st.booleans())
    def redrive_and_crash(self, index: int, *, at: int, after: bool) -> None:
        """Redrive a dead letter by a process that is killed at one of its statements."""
        message_id, before = self._letter(index), len(self.world.topic.published_messages)
        self._crash(
            lambda: self.world.redrive(message_id, now=True),
            lambda model: model.redrive(message_id, now=True),
            at=at,
            after=after,
        )
        self._name_letter(message_id, before)

    @precondition(lambda self: self.model.letters)
    @rule(index=INDEX)
    def drop(self, index: int) -> None:
        """Drop a dead letter."""
        message_id = self._letter(index)
        assert self.world.memories.drop_dead_letters([message_id]) == 1
        del self.model.letters[message_id]
        self.dropped = True
        self._compare()

    @precondition(lambda self: self.model.memories)
    @rule(index=INDEX)
    def delete(self, index: int) -> None:
        """Delete a memory by its id."""
        content = self._content(index)
        self._delete_in_world(content)
        self._delete_in_model(content)
        self._compare()

    @precondition(lambda self: self.model.memories)
    @rule(index=INDEX, successor=st.none() | INDEX)
    def supersede(self, index: int, successor: int | None) -> None:
        """Set or remove the successor of a memory."""
        older, newer = self._content(index), None if successor is None else self._content(successor)
        ids = {content: name for name, (content, _) in self.world.stored_memories().items()}
        is_changed = self.world.supersede(ids[older], ids[newer] if newer else None)
        numbers = {memory.content: memory.number for memory in self.model.memories.values()}
        assert is_changed is self.model.supersede(numbers[older], numbers[newer] if newer else None)
        self._compare()

    @rule(text=st.sampled_from(TROUBLESOME), kind=st.sampled_from(["away", "refused", "hindered"]))
    def change_faults(self, text: str, kind: str) -> None:
        """Make the embedder fail, or end its failure."""
        faults = self.world.faults
        if kind == "away":
            faults.away = "" if faults.away else "away"
        else:
            (faults.refused if kind == "refused" else faults.hindered).symmetric_difference_update({text})

    @rule(memories=st.none() | st.integers(0, 3))
    def change_quota(self, memories: int | None) -> None:
        """Change the number of memories that the namespace may have."""
        self.world.set_room(memories)
        self.model.room = memories

    @rule(days=st.sampled_from([2, 91]))
    def pass_days(self, days: int) -> None:
        """Move the time forward by days."""
        self.world.pass_days(days)
        self.model.noticed_space = self.model.space
        self.model.day += days
        self._compare()

    @rule(chance=st.integers(0, 9))
    def reembed(self, chance: int) -> None:
        """Sometimes move to another embedding space; this is rare because it takes 0.1 s."""
        if chance == 0:
            self.world.change_space()
            self.model.change_space()

    def _something(self, data: st.DataObject) -> tuple[Callable[[], None], Callable[[], None]]:
        """Choose what happens while texts are embedded. Return functions that do it in the world and in the model."""
        kinds = [*["deliver"] * 6, *["give up"] * 3, "reembed"]
        kind = data.draw(st.sampled_from([*kinds, *(["delete"] * 3 if self.model.memories else [])]), "meanwhile")
        index = data.draw(INDEX, "of")
        if kind == "reembed":
            return self.world.change_space, self.model.change_space
        if kind == "delete":
            content = self._content(index)
            return lambda: self._delete_in_world(content), lambda: self._delete_in_model(content)
        message, give_up = self._message(index), kind == "give up"
        acknowledged: list[bool] = []

        def in_world() -> None:
            acknowledged.append(self.world.deliver(message, give_up=give_up))
            self.world.topic.settle(message, acknowledged=acknowledged[0])

        def in_model() -> None:
            assert acknowledged == [self._delivered(self.model, message, give_up=give_up)]

        return in_world, in_model

    def _delete_in_world(self, content: str) -> None:
        for name, (memory, _) in self.world.stored_memories().items():
            if memory == content:
                self.world.delete(name)

    def _delete_in_model(self, content: str) -> None:
        for number in [memory.number for memory in self.model.memories.values() if memory.content == content]:
            self.model.delete_memory(number)

    def _delivered(self, model: Model, message: Published, *, give_up: bool, **how: Any) -> bool:
        deliver = model.give_up if give_up else model.ingest
        if not give_up:
            how.pop("late", None)
        try:
            deliver(message, self.world.faults, **how)
        except AgainError:
            return False
        return True

    def _crash(
        self, in_world: Callable[[], object], in_model: Callable[[Model], object], *, at: int, after: bool
    ) -> None:
        """Run an operation in a process that is killed, and set the model to the state that the database has."""
        self.world.end()
        self.world.start(kill_at=at, is_after=after)
        self.model.noticed_space = self.model.space
        with suppress(Killed):
            in_world()
        self.world.end()
        self.world.start()
        visible, possible = self.world.view(), []
        for commits in range(30):
            model = deepcopy(self.model)
            model.commits_left = commits
            try:
                in_model(model)
            except CrashedError:
                is_whole = False
            else:
                is_whole = True
            model.commits_left = None
            possible.append(model.view())
            if possible[-1] == visible:
                model.locks = set()
                self.model = model
                return
            if is_whole:
                break
        assert visible in possible

    def _message(self, index: int) -> Published:
        """Choose a message to deliver, usually a waiting one. An acknowledged message can also be delivered again."""
        topic = self.world.topic
        choice = topic.waiting if topic.waiting and index else topic.published_messages
        return choice[index % len(choice)]

    def _letter(self, index: int) -> str:
        return sorted(self.model.letters)[index % len(self.model.letters)]

    def _content(self, index: int) -> str:
        contents = sorted({memory.content for memory in self.model.memories.values()})
        return contents[index % len(contents)]

    def _settle(self, message: Published, *, acknowledged: bool) -> None:
        """Keep the message waiting unless it was acknowledged. Then compare the model with the database."""
        self.world.topic.settle(message, acknowledged=acknowledged)
        self._compare()

    def _name_letter(self, message_id: str, before: int) -> None:
        """Record in the model the letter id with which the message of a dead letter was published again."""
        for message in self.world.topic.published_messages[before:]:
            if letter := self.model.letters.get(message_id):
                letter.name = message.attributes[LETTER_ID]

    def _compare(self) -> None:
        assert self.world.view() == self.model.view()

    def _drain(self) -> None:
        """End all faults, deliver all messages, and redrive all dead letters until nothing changes."""
        self.world.faults.away = ""
        self.world.faults.hindered.clear()
        self.change_quota(None)
        for _ in range(4):
            self._deliver_all()
            self.pass_days(2)
            for message_id in list(self.model.letters):
                before = len(self.world.topic.published_messages)
                assert self.world.redrive(message_id, now=False)
                assert self.model.redrive(message_id, now=False)
                self._name_letter(message_id, before)
        self._deliver_all()
        read = [decode(message) for message in self.world.topic.published_messages]
        newer = {request_id for message in read if message.retry_reason for request_id in message.request_ids}
        for message in read:
            self._check_outcomes(set(message.request_ids) - newer)

    def _deliver_all(self) -> None:
        for message in list(self.world.topic.waiting):
            for give_up, late in ((False, False), (False, False), (True, False), (True, True)):
                if message in self.world.topic.waiting:
                    acknowledged = self.world.deliver(message, give_up=give_up, late=late)
                    assert acknowledged is self._delivered(self.model, message, give_up=give_up, late=late)
                    self._settle(message, acknowledged=acknowledged)
        assert not self.world.topic.waiting

    def _check_outcomes(self, request_ids: Collection[UUID]) -> None:
        """Check that each request has an outcome, unless its letter was dropped or its row was removed."""
        for row in map(self.model.requests.get, request_ids):
            assert self.dropped or (row.state in (*FINAL, "failed") if row else self.model.day > 90)
