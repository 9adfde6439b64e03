"""Incidents of Pub/Sub, publishers and buckets."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from mnemosyne.adapters import service_error_tables, service_errors
from mnemosyne.adapters.database.connections import connection_factory
from mnemosyne.adapters.database.owner_store import Quotas
from mnemosyne.cli.local import postgres
from mnemosyne.domain.message import encode
from mnemosyne.service import ingest
from mnemosyne.service.callers import check_push
from tests.fakes import FakeQueue, request
from tests.incidents import World
from tests.terraform.monitoring import Monitoring

Check = Callable[..., None]
ALERT_EACH = 21
"""Number of dead letters that is needed for the alert on dead letters."""


class Refusing(FakeQueue):
    """A topic that refuses each message with an error from Pub/Sub."""

    def __init__(self, status: int | str) -> None:
        super().__init__()
        self._status = status

    def republish(self, data: bytes, attributes: Any) -> None:
        raise service_errors.error(service_error_tables.TOPIC, self._status, "no", topic="projects/p/topics/t")


@pytest.mark.parametrize(
    ("incident", "status", "cause"),
    [
        ("mcp may not publish", 403, "may not publish to the topic"),
        ("mcp may not publish", service_errors.PRECONDITION, "Pub/Sub cannot use the topic"),
        ("The topic is missing", 404, "does not exist"),
    ],
)
def test_mcp_cannot_publish(idle: World, check: Check, incident: str, status: int | str, cause: str) -> None:
    idle.services.queue = Refusing(status)
    assert idle.ingest().is_error
    check(incident, idle, "operator_needed", cause)


def test_pushes_are_refused(idle: World, check: Check) -> None:
    class Verifier:
        def verify(self, token: str) -> dict[str, object]:
            return {"email": "other@p.iam.gserviceaccount.com", "email_verified": True}

    identify = partial(check_push, Verifier(), {"push@p.iam.gserviceaccount.com"})
    assert idle.deliver(identify=identify, headers={"Authorization": "Bearer a.b.c"}) == 401
    check("Pushes are refused", idle, "audit", "does not come from the function's subscription")
    (refused,) = [fields for fields in idle.entries if fields["jsonPayload.event"] == "audit"]
    for account in ("received the account other@p", "expected push@p"):
        assert account in refused["jsonPayload.error"]


def test_ingest_has_a_bug(world: World, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(ingest, "store", crash)
    assert world.deliver() == 500
    assert world.deliver("dead-letter") == 204
    check("Ingest has a bug", world, "push_crashed", "crashed")


def test_the_dead_letter_function_fails(world: World, check: Check) -> None:
    error = service_errors.error(service_error_tables.DATABASE, "57P01", "")
    assert world.fail_delivery(error, "dead-letter") == 503
    (point,) = world.points
    assert point.labels["resource.labels.subscription_id"] == "mem-dead-letter"
    check("The dead-letter function fails", world, "push_postponed", "the database is not available")


def test_a_publisher_sends_unreadable_messages(world: World, check: Check) -> None:
    assert world.deliver(data=b"no json", attributes={}) == 204
    assert "message_refused" in world.events
    world.entries *= ALERT_EACH  # each message has another id
    check("A publisher sends unreadable messages", world, "message_refused", "unreadable")
    assert {fields["severity"] for fields in world.entries} <= {"INFO", "WARNING"}


def test_a_single_unreadable_message_fires_no_alert(world: World, monitoring: Monitoring) -> None:
    world.deliver(data=b"no json", attributes={})
    assert monitoring.alerts(world.entries, world.points) == set()


def test_a_publisher_uses_an_id_twice(world: World, check: Check) -> None:
    first = request("tea")
    assert world.deliver(memory=first) == 204
    assert world.deliver(memory=replace(request("coffee"), request_id=first.request_id)) == 204
    world.entries *= ALERT_EACH
    check("A publisher uses an id twice", world, "message_refused", "conflict")
    assert {fields["severity"] for fields in world.entries} <= {"INFO", "WARNING"}


def test_messages_have_a_newer_schema_version(world: World, check: Check) -> None:
    data, attributes = encode("ns", [request("tea")], "")
    newer = data.replace(b'"schema_version":1', b'"schema_version":9')
    message: Any = {"data": newer, "attributes": {**attributes, "schema_version": "9"}}
    assert world.deliver(**message) == 503
    world.deliver("dead-letter", **message, times=2)
    check("Messages have a newer schema version", world, "dead_lettered", "newer_version")


def test_messages_have_waited_for_six_days(world: World, check: Check) -> None:
    assert world.deliver("dead-letter", age=timedelta(days=6, hours=1)) == 204
    check("Messages have waited for six days", world, "dead_lettered", "expired")


def test_a_namespace_has_reached_its_quota(
    world: World, check: Check, cluster: postgres.EmbeddedPostgres, database: str
) -> None:
    Quotas(connection_factory(cluster.url(postgres.OWNER, database))).set("ns", {"memories": 0})
    assert world.deliver() == 204
    check("A namespace has reached its quota", world, "quota_exceeded")


def test_a_bucket_cannot_be_read(idle: World, check: Check) -> None:
    error = service_errors.error(service_error_tables.BUCKET, 403, "no", object="gs://acme/a.jsonl")
    assert idle.fail_delivery(error, "import-object", path="/objects/archive") == 503
    check("A bucket cannot be read", idle, "operator_needed", "may not read")


def test_a_bucket_sends_notifications_that_cannot_be_read(world: World, check: Check) -> None:
    assert world.deliver("import-object", attributes={"eventType": "OBJECT_FINALIZE"}, path="/objects/archive") == 204
    world.entries *= ALERT_EACH
    check("A bucket sends notifications that cannot be read", world, "message_refused", "notification")


def test_a_bulk_import_makes_a_backlog(world: World, check: Check) -> None:
    assert world.deliver(age=timedelta(minutes=5)) == 204
    check("A bulk import makes a backlog", world, "push_handled")
    (handled,) = [fields for fields in world.entries if fields["jsonPayload.event"] == "push_handled"]
    assert handled["jsonPayload.lag_ms"] >= 300_000


def test_a_message_that_is_stored_at_once_fires_no_alert(world: World, monitoring: Monitoring) -> None:
    assert world.deliver() == 204
    assert monitoring.alerts(world.entries, world.points) == set()


def test_the_import_of_a_large_object_does_not_count_as_a_late_memory(idle: World, monitoring: Monitoring) -> None:
    age = timedelta(minutes=5)
    assert idle.deliver("import-object", handler=lambda *_: None, age=age, path="/objects/archive") == 204
    assert "push_handled" in idle.events
    assert monitoring.alerts(idle.entries, idle.points) == set()
