"""The texts of the alerts: first commands, their columns, and the runbook's sections."""

import re

from tests.terraform.monitoring import Monitoring, selects
from tests.terraform.test_alerts import MANUAL
from tests.terraform.workspace import ROOT

ALERTS, _, _REST = MANUAL.partition("## Alerts")[2].partition("## Incidents")
INCIDENTS = _REST.partition("## Log events")[0]
SECTION = re.compile(r"^### (.+)\n\n((?:(?!^##).*\n)+)", re.MULTILINE)
SECTIONS = dict(SECTION.findall(ALERTS))
"""The sections of the runbook that describe alerts, by title."""
LOG_FIELDS = (
    *("action", "address", "cause", "duration_ms", "embed_ms", "error", "expires_at", "key", "lag_ms", "message_id"),
    *("namespace", "next_step", "principal", "reason", "subscription", "tool", "wait_s"),
)
"""Fields of log events that the sections name as columns."""


def test_each_event_in_an_alert_s_command_or_filter_is_in_the_runbook_and_is_logged(monitoring: Monitoring) -> None:
    code = "\n".join(file.read_text() for file in (ROOT / "functions" / "mnemosyne").rglob("*.py"))
    for title, command in monitoring.commands.items():
        for events in re.findall(r"jsonPayload\.event=(\([^)]*\)|\"\w+\")", command):
            for event in re.findall(r'"(\w+)"', events):
                assert f'"{event}"' in code
                assert event in SECTIONS[title], title
                assert f"`{event}`" in MANUAL, event


def test_each_event_in_the_table_of_an_alert_s_section_is_shown_by_the_section_s_command(
    monitoring: Monitoring,
) -> None:
    for title, section in SECTIONS.items():
        if "| event |" in section:
            table = section.partition("| event |")[2].partition("\n\n")[0]
            for event in re.findall(r"`([a-z_]+)`", "".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE))):
                assert f'"{event}"' in monitoring.commands[title], title


def test_the_columns_of_an_alert_s_command_cover_the_fields_that_its_section_names(monitoring: Monitoring) -> None:
    assert len(SECTIONS) > 15
    for title, section in SECTIONS.items():
        columns = re.findall(r"jsonPayload\.(\w+)[,)]", monitoring.commands.get(title, ""))
        for field in LOG_FIELDS:
            if columns and f"`{field}`" in section:
                assert field in columns, title


def test_the_columns_of_an_incident_s_first_command_cover_the_fields_that_it_names() -> None:
    for title, text in SECTION.findall(INCIDENTS):
        command = text.partition("- **First command**: ")[2].partition("\n")[0]
        columns = re.findall(r"jsonPayload\.(\w+)[,)]", command)
        symptom = text.partition("- **Symptoms**: ")[2].partition("\n")[0]
        for field in LOG_FIELDS:
            if columns and f"`{field}`" in symptom:
                assert field in columns, title


def test_the_text_of_each_alert_names_the_instance_of_the_database_and_the_labels(monitoring: Monitoring) -> None:
    (database,) = monitoring.of("google_sql_database_instance")
    for policy in monitoring.of("google_monitoring_alert_policy"):
        text = policy["documentation"][0]["content"]
        assert f"INSTANCE is {database['name']}" in text
        for condition in policy["conditions"]:
            for threshold in condition["condition_threshold"]:
                for label in threshold["aggregations"][0]["group_by_fields"] or ():
                    assert f"${{{label}}}" in text


def test_an_event_that_needs_an_operator_has_the_severity_error(monitoring: Monitoring) -> None:
    """The runbook says that the severity ERROR means a fault for which an operator must act."""
    code = "\n".join(file.read_text() for file in (ROOT / "functions" / "mnemosyne").rglob("*.py"))
    (events,) = re.findall(r"jsonPayload\.event=\(([^)]*)\)", monitoring.commands["An operator must act"])
    for event in re.findall(r'"(\w+)"', events):
        assert re.search(rf'(log|self)\.error\(\s*"{event}"', code), event


LOGGED = {
    "resource.type": "cloud_run_revision",
    "jsonPayload.action": "push",
    "jsonPayload.outcome": "refused",
    "jsonPayload.reason": "database",
    "textPayload": "Memory limit",
}
"""Fields of a log entry that alerts' commands compare, besides the service and the event."""


def test_commands_and_charts_of_a_deployment_show_nothing_of_a_deployment_with_a_longer_name(
    monitoring: Monitoring,
) -> None:
    """The guide suggests such a longer name: it describes how a deployment `mnemosyne` moves to `mnemosyne-us`."""

    def shown(title: str, event: str, deployment: str) -> bool:
        services = [f"{deployment}-{name}" for name in ("mcp", "ingest", "import-object")]
        lines = [LOGGED | {"jsonPayload.event": event, "resource.labels.service_name": name} for name in services]
        return bool(monitoring.shown(title, lines))

    reading = {title: command for title, command in monitoring.commands.items() if "jsonPayload.event=" in command}
    assert len(reading) > 10
    for title, command in reading.items():
        event = re.findall(r'"([a-z_]+)"', command.partition("jsonPayload.event=")[2])[0]
        assert shown(title, event, "mem") or "job_id" in command, title
        assert not shown(title, event, "mem-us"), title
    (chart,) = [chart for chart in monitoring.charts if chart["title"].startswith("Oldest undelivered message")]
    selected = chart["xyChart"]["dataSets"][0]["timeSeriesQuery"]["timeSeriesFilter"]["filter"]
    for name in (subscription["name"] for subscription in monitoring.of("google_pubsub_subscription")):
        point = {
            "metric.type": "pubsub.googleapis.com/subscription/oldest_unacked_message_age",
            "resource.type": "pubsub_subscription",
        }
        assert selects(selected, point | {"resource.labels.subscription_id": name})
        assert not selects(selected, point | {"resource.labels.subscription_id": name.replace("mem-", "mem-us-", 1)})
