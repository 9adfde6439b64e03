"""Incidents of the functions mcp and auth and of the deployment, and incidents that only Google's metrics show."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from mnemosyne.adapters import service_error_tables, service_errors
from mnemosyne.adapters.identity.tokens import OidcVerifier
from mnemosyne.app.container import connection_factory_for
from mnemosyne.app.entry_points import configured_services
from mnemosyne.app.migrate import log_failure
from mnemosyne.app.operator import expire_memories
from mnemosyne.domain.principal import Principal, Scope
from mnemosyne.errors import MigrationFailed, Unauthorized, Unavailable
from mnemosyne.http.admin.app import build_app
from mnemosyne.http.auth.call import Gateway
from mnemosyne.http.common.lifespan import LifespanApp
from mnemosyne.service import search
from mnemosyne.service.api_keys import new_key
from mnemosyne.service.authenticate import ApiKeyAuthenticator, OidcAuthenticator
from mnemosyne.service.canary import check_canary
from mnemosyne.settings import Settings
from tests.fakes import NOW
from tests.incidents import KEY, World
from tests.integration.incidents.conftest import SECTIONS
from tests.integration.incidents.test_messages import Refusing
from tests.terraform.monitoring import Monitoring, answered, entry

Check = Callable[..., None]


def test_a_tool_has_a_bug(world: World, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(search, "search", crash)
    world.search()
    check("A tool has a bug", world, "tool_crashed")


def test_a_function_does_not_start(idle: World, check: Check) -> None:
    build: Any = partial(Settings.from_environment, {"MNEMOSYNE_TOPIC": "nowhere"})
    assert asyncio.run(idle.get(LifespanApp(build), "mcp")) == 500
    check("A function does not start", idle, "start_failed", "settings: ")


def test_a_setting_has_a_wrong_name(idle: World, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "MNEMOSYNE_DATABASE_URL": "postgresql://u@/d?host=/s",
        "MNEMOSYNE_TOPIC": "projects/p/topics/t",
        "MNEMOSYNE_DB_POOLSIZE": "9",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("mnemosyne.app.entry_points.configure_logging", lambda *_, **__: None)
    with idle.function("ingest"):
        configured_services.__wrapped__()
    check("A setting has a wrong name", idle, "settings_unknown")
    assert "MNEMOSYNE_DB_POOLSIZE" in idle.lines[0]


def test_credentials_cannot_be_checked(idle: World, check: Check) -> None:
    def find(key_id: str) -> None:
        raise Unavailable("the database is not responding")

    assert idle.post(ApiKeyAuthenticator(find, lambda: NOW)) == 503
    check("Credentials cannot be checked", idle, "authentication_unavailable", "the database is not responding")


def test_the_identity_provider_is_unreachable(idle: World, check: Check) -> None:
    authenticator = OidcAuthenticator(OidcVerifier("http://127.0.0.1:9", "https://memory"), "namespace")
    token = "eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.e30.c2ln"
    assert idle.post(authenticator, token=token) == 503
    check("The identity provider is unreachable", idle, "issuer_unreachable")


def test_wrong_credentials_are_sent(idle: World, check: Check) -> None:
    assert idle.post(ApiKeyAuthenticator(lambda _: None, lambda: NOW), times=62) == 429
    idle.entries *= 10  # the alert needs more than 300
    refused = [fields for fields in idle.entries if fields.get("jsonPayload.event") == "audit"]
    assert {fields["jsonPayload.reason"] for fields in refused} == {"rate", "the key is unknown, expired or revoked"}
    assert {fields["jsonPayload.action"] for fields in refused} == {"authenticate"}
    assert {fields["jsonPayload.key"] for fields in refused} == {KEY.split("_")[1]}
    check("Wrong credentials are sent", idle, "audit")


class Everybody:
    """Authenticator that accepts every credential."""

    credential = "any"
    only_authorization = False

    def authenticate(self, authorization: str | None) -> Principal:
        return Principal(id="key:loop", credential="key:loop", namespace="ns", scopes=frozenset({Scope.READ}))

    cached_principal = authenticate


def test_one_caller_sends_too_many_calls(idle: World, check: Check) -> None:
    assert idle.post(Everybody(), charged="key:loop", times=31) == 429
    idle.entries *= 10  # the alert needs more than 300
    assert {fields["jsonPayload.key"] for fields in idle.entries if "jsonPayload.event" in fields} == {"loop"}
    check("One caller sends too many calls", idle, "audit")


def test_all_connections_of_an_instance_are_busy(idle: World, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemosyne.mcp.thread_limiter.ThreadLimiter.wait_seconds", lambda *_: 3.0)
    assert idle.post(Everybody(), times=11) == 429
    check("All connections of an instance are busy", idle, "audit")


def test_an_api_key_expires_soon(idle: World, check: Check) -> None:
    tomorrow = NOW + timedelta(days=1)
    key, token = new_key(name="k", namespace="ns", scopes=frozenset(), created_at=NOW, expires_at=tomorrow)
    with idle.function("mcp"):
        ApiKeyAuthenticator(lambda _: key, lambda: NOW).authenticate(f"Bearer {token}")
    check("An API key expires soon", idle, "key_expires_soon")


def test_nobody_can_log_in(idle: World, check: Check) -> None:
    gateway = Gateway("https://auth.example", None)
    with idle.function("auth"):
        answer = gateway._error_response(Unavailable("Cloud KMS does not answer"), as_page=True)
    idle.answered("auth", answer.status_code)
    check("Nobody can log in", idle, "auth_unavailable")


def _uptime(world: World, monitoring: Monitoring, metric: str, *values: float) -> None:
    (config,) = monitoring.of("google_monitoring_uptime_check_config")
    name, labels = f"monitoring.googleapis.com/uptime_check/{metric}", {"check_id": config["uptime_check_id"]}
    for value in values:
        world.measure(name, value, {"type": "uptime_url"}, labels)


def test_the_canary_memory_is_not_found(world: World, check: Check, monitoring: Monitoring) -> None:
    world.services.queue = Refusing(503)
    with world.function("mcp"):
        assert not check_canary(world.services).ok
    _uptime(world, monitoring, "check_passed", False, False, True)
    check("The canary memory is not found", world, "canary_failed", "publish: the topic")


def test_mcp_cannot_be_reached(idle: World, check: Check, monitoring: Monitoring) -> None:
    _uptime(idle, monitoring, "check_passed", False, False)
    check("mcp cannot be reached", idle)


def test_an_uptime_failure_at_one_location_fires_no_alert(idle: World, monitoring: Monitoring) -> None:
    _uptime(idle, monitoring, "check_passed", False, True, True)
    assert monitoring.alerts(idle.entries, idle.points) == set()


def test_the_certificate_is_not_renewed(idle: World, check: Check, monitoring: Monitoring) -> None:
    _uptime(idle, monitoring, "time_until_ssl_cert_expires", 13.0, 13.0)
    check("The certificate is not renewed", idle)


def test_a_migration_fails(idle: World, check: Check) -> None:
    with idle.function("migrate"):
        log_failure("migration_failed", MigrationFailed("0002.sql", "42P07", "relation exists"))
    job = {"resource.type": "cloud_run_job", "resource.labels.job_name": "mem-migrate"}
    (line,) = idle.lines
    idle.entries = [entry(line, "") | job]
    check("A migration fails", idle, "migration_failed")


def _call_migrate(world: World, path: str, *, is_known: bool = True, **work: Callable[[], dict[str, Any]]) -> int:
    """Call `migrate` as Cloud Scheduler does, which logs a failed call, and return the status."""

    def identify(_: str | None) -> None:
        if not is_known:
            raise Unauthorized("the token is not the workflow's")

    outcome_of: Any = {"expire": dict, "announce": dict} | work
    app = build_app(list, lambda *_: {}, **outcome_of, identify=identify, report=log_failure)
    with world.function("migrate"):
        status = TestClient(app).post(path).status_code
    if status >= 400:
        job = {"resource.type": "cloud_scheduler_job", "resource.labels.job_id": f"mem-{path.strip('/')}"}
        world.entries.append(job | {"severity": "ERROR", "jsonPayload.status": "UNAVAILABLE"})
    return status


def _expire() -> dict[str, Any]:
    settings = Settings.from_environment(
        {"MNEMOSYNE_DATABASE_URL": "postgresql://owner:pw@127.0.0.1:9/none", "MNEMOSYNE_TOPIC": "projects/p/topics/t"}
    )
    return expire_memories(connection_factory_for(settings))


def _announce() -> dict[str, Any]:
    raise service_errors.error(service_error_tables.TOPIC, 503, "busy", topic="projects/p/topics/outcomes")


JOBS = {
    "Expired memories are not removed": ("/expire", "expiry_failed", "the database cannot be reached"),
    "Changes are not published": ("/announce", "announcement_failed", "the topic"),
}


@pytest.mark.parametrize("incident", JOBS)
def test_a_scheduled_job_fails(idle: World, check: Check, incident: str) -> None:
    path, event, cause = JOBS[incident]
    assert _call_migrate(idle, path, expire=_expire, announce=_announce) == 503
    check(incident, idle, event, cause)
    (failed,) = [fields for fields in idle.entries if fields.get("jsonPayload.event") == event]
    assert "make deploy" not in failed["jsonPayload.next_step"]


@pytest.mark.parametrize("incident", JOBS)
def test_a_refused_call_of_cloud_scheduler_fires_the_alert(idle: World, check: Check, incident: str) -> None:
    path, event, _ = JOBS[incident]
    assert _call_migrate(idle, path, is_known=False) == 401
    assert event not in idle.events
    check(incident, idle)


def test_a_backup_fails(idle: World, check: Check, instance: dict[str, str]) -> None:
    idle.entries = [
        {
            "log_id": "cloudaudit.googleapis.com/system_event",
            "severity": "INFO",
            "protoPayload.methodName": "cloudsql.instances.automatedBackup",
            "protoPayload.metadata.windowStatus": "STATUS_FAILED",
            **{f"resource.{key}": value for key, value in instance.items()},
        }
    ]
    check("A backup fails", idle)


MEASURED = {
    "The processor of the database is busy": ("cloudsql.googleapis.com/database/cpu/utilization", 0.95, ""),
    "A function is out of memory": ("run.googleapis.com/container/memory/utilizations", 0.97, "ingest"),
    "All instances of mcp are in use": ("run.googleapis.com/container/instance_count", 1_000.0, "mcp"),
}


@pytest.mark.parametrize("incident", MEASURED)
def test_an_incident_that_only_google_s_metrics_show_fires_its_alert(
    idle: World, check: Check, instance: dict[str, str], incident: str
) -> None:
    metric, value, function = MEASURED[incident]
    resource = {"type": "cloud_run_revision", "labels.service_name": f"mem-{function}"} if function else instance
    idle.measure(metric, value, resource, {"state": "active"} if metric.endswith("instance_count") else {})
    check(incident, idle)


def test_slow_answers_fire_their_alert(idle: World, check: Check) -> None:
    idle.entries.append(answered("mem-mcp", 200, seconds=3.0))
    check("Searches are slow", idle)


def test_the_budget_is_spent(monitoring: Monitoring) -> None:
    """Cloud Billing itself sends the e-mail about the budget, so no alert of the deployment fires."""
    (budget,) = monitoring.of("google_billing_budget")
    assert budget["all_updates_rule"][0]["monitoring_notification_channels"]
    assert "- **Alerts**: none." in SECTIONS["The budget is spent"]


def test_each_incident_of_the_runbook_is_provoked() -> None:
    tests = [*Path(__file__).parent.glob("test_*.py"), Path(__file__).parents[1] / "faults" / "test_restore.py"]
    text = "\n".join(file.read_text() for file in tests)
    assert [title for title in SECTIONS if title not in text] == []


def test_the_runbook_has_at_least_35_incidents_and_each_has_all_headings() -> None:
    assert len(SECTIONS) >= 35
    for title, text in SECTIONS.items():
        for part in ("Symptoms", "Alerts", "Cause", "First command", "Fix", "Data loss"):
            assert f"- **{part}**: " in text, title
