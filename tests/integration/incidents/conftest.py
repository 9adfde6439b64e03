"""Fixtures for tests of incidents: a deployment in one process, and the alerts that Terraform creates."""

import re
from collections.abc import Callable

import pytest

from mnemosyne.adapters.database.memories import MemoryStore
from mnemosyne.observability import CAUSE_LENGTH
from tests.fakes import FakeServices
from tests.incidents import World
from tests.log_events import LISTED, WITHOUT_ERROR
from tests.terraform.conftest import monitoring
from tests.terraform.monitoring import Monitoring
from tests.terraform.workspace import ROOT

__all__ = ["monitoring"]

INCIDENTS = (ROOT / "docs" / "runbook.md").read_text().partition("## Incidents")[2]
SECTIONS = {title: text for title, _, text in (part.partition("\n") for part in INCIDENTS.split("\n### ")[1:])}
"""The sections of the runbook that describe incidents, by title."""


METRICS_ONLY = {
    "A function is out of memory": {"A function is running out of memory"},
    "All instances of mcp are in use": {"mcp has almost reached its maximum number of instances"},
    "Searches are slow": {"One call in twenty takes longer than two seconds"},
}
"""Incidents for which the tests create only metrics and no log entries. For each, the alerts whose command (which lists
log entries) then shows nothing."""


def check_faults(world: World) -> None:
    """Check that each log line of a fault has its cause, details and next step, and that none is truncated."""
    for fields in world.entries:
        event, severity = fields.get("jsonPayload.event"), fields["severity"]
        if severity not in ("WARNING", "ERROR") or event is None or (event in LISTED and severity == "WARNING"):
            continue
        missing = [name for name in ("cause", "error", "next_step") if not fields.get(f"jsonPayload.{name}")]
        assert missing in ([], ["error"] if event in WITHOUT_ERROR else []), fields
        assert len(str(fields["jsonPayload.cause"])) < CAUSE_LENGTH, fields
        assert "do what the error says" not in str(fields["jsonPayload.next_step"])


def named_alerts(incident: str) -> set[str]:
    """Return the alerts that the runbook's section of an incident names."""
    (line,) = re.findall(r"- \*\*Alerts\*\*: (.+)\.", SECTIONS[incident])
    return set(re.findall(r"\[(.+?)\]", line))


@pytest.fixture
def world(store: MemoryStore) -> World:
    return World(FakeServices(store))


@pytest.fixture
def idle() -> World:
    """A deployment in one process without a database."""
    return World(FakeServices())


@pytest.fixture(scope="session")
def _checked() -> set[str]:
    return set()


@pytest.fixture
def check(monitoring: Monitoring, _checked: set[str]) -> Callable[..., None]:
    """Function that checks an incident: an event with a cause is logged, and exactly the alerts of its section fire."""

    def checked(incident: str, world: World, event: str = "", cause: str = "") -> None:
        fired = monitoring.alerts(world.entries, world.points)
        assert fired == named_alerts(incident), world.entries
        for title in fired - METRICS_ONLY.get(incident, set()):
            assert monitoring.shown(title, world.entries) != [], f"the command of {title} shows nothing"
        if event:
            assert event in world.events
            assert f"`{event}`" in SECTIONS[incident]
        if cause:
            logged = {str(fields.get("jsonPayload.cause")) for fields in world.entries}
            assert any(cause in line for line in logged), logged
        check_faults(world)
        _checked.add(incident)

    return checked


@pytest.fixture
def instance(monitoring: Monitoring) -> dict[str, str]:
    """The resource labels of the database's metrics."""
    (database,) = monitoring.of("google_sql_database_instance")
    return {"type": "cloudsql_database", "labels.database_id": f"my-project:{database['name']}"}
