"""Alerts, the metric of log events, and the dashboard of a deployment."""

import base64
import itertools
import re
from typing import Any

import pytest
import yaml

from tests.terraform.conftest import RECIPIENTS, Applied
from tests.terraform.monitoring import ENTRIES, NOTIFIED, Monitoring, Point, answered, selects
from tests.terraform.workspace import ROOT, Workspace

pytestmark = pytest.mark.slow

FUNCTIONS = ("mcp", "ingest", "dead-letter", "import-object", "auth", "migrate")
MANUAL = (ROOT / "docs" / "runbook.md").read_text()
GUIDE = (ROOT / "docs" / "deployment.md").read_text()


def _of_plan(plan: dict[str, Any]) -> Monitoring:
    """The monitoring resources of a planned deployment, without values that are known only after an apply."""
    (module,) = plan["planned_values"]["root_module"]["child_modules"]
    return Monitoring(module["resources"])


def planned(empty: Workspace, **variables: object) -> Monitoring:
    """The monitoring resources of a deployment that is planned with the variables."""
    assert empty.plan("-refresh=false", **variables).status == 2
    return _of_plan(empty.planned())


@pytest.mark.parametrize("other", ["mem-x", "mem-mcp", "me", "mem-dead", "memory"])
def test_a_deployment_counts_the_events_of_its_own_functions_only(monitoring: Monitoring, other: str) -> None:
    def counted(deployment: str) -> set[str]:
        entry = {"resource.type": "cloud_run_revision", "jsonPayload.event": "searched"}
        services = [f"{deployment}-{function}" for function in FUNCTIONS]
        field = "resource.labels.service_name"
        return {name for name in services if selects(monitoring.event_filter, entry | {field: name})}

    assert counted("mem") == {f"mem-{function}" for function in FUNCTIONS}
    assert counted(other) == set()


def test_the_log_metric_covers_exactly_the_functions_of_the_deployment(monitoring: Monitoring) -> None:
    deployed = {function["name"] for function in monitoring.of("google_cloudfunctions2_function")}
    named = set(re.findall(r'"(mem-[a-z-]+)"', monitoring.event_filter))
    assert deployed | {"mem-auth"} == named  # auth exists with auth_mode = "oauth" only


@pytest.mark.parametrize("other", ["mem-publisher", "mem-bucket", "mem-ingest", "m", "mem-x"])
def test_an_alert_watches_the_subscriptions_of_its_own_deployment_only(monitoring: Monitoring, other: str) -> None:
    def watched(names: list[str]) -> set[str]:
        patterns = monitoring.subscription_patterns()
        return {name for name in names if any(re.fullmatch(pattern, name) for pattern in patterns)}

    entries = ["publisher-crm", "publisher-crm-dead-letter", "bucket-exports", "bucket-exports-dead-letter"]
    names = ["ingest", "dead-letter", *entries]
    assert watched([f"mem-{name}" for name in names]) == {f"mem-{name}" for name in names}
    assert watched([f"{other}-{name}" for name in [*names, "publisher-erp", "bucket-other"]]) == set()


@pytest.mark.nightly
def test_the_filter_of_an_alert_has_at_most_2048_characters_whatever_the_number_of_entries(empty: Workspace) -> None:
    names = [f"customer-{number:03}-of-thirty-letters"[:30] for number in range(100)]
    monitoring = planned(
        empty,
        **NOTIFIED,
        publishers={name: {"namespace": name, "members": []} for name in names},
        buckets={name: {"bucket": f"acme-{name}", "namespace": name} for name in names},
    )
    filters = [condition["condition_threshold"][0].get("filter") or "" for condition in monitoring.thresholds]
    assert max(map(len, filters)) <= 2048
    patterns = re.findall(r'subscription_id = monitoring\.regex\.full_match\("([^"]+)"\)', " ".join(filters))
    for name in names:
        for kind, ending in itertools.product(("publisher", "bucket"), ("", "-dead-letter")):
            subscription = f"mnemosyne-{kind}-{name}{ending}"
            assert sum(re.fullmatch(pattern, subscription) is not None for pattern in patterns) == 1


def test_the_runbook_names_the_subscriptions_of_the_dead_letter_function(monitoring: Monitoring) -> None:
    assert "A name that ends in `-dead-letter`" in MANUAL
    for subscription in monitoring.of("google_pubsub_subscription"):
        called = subscription["push_config"][0]["oidc_token"][0]["audience"]
        if "import-object" not in called:
            assert ("mem-dead-letter" in called) == subscription["name"].endswith("-dead-letter")


def test_alerts_on_the_database_and_on_mcp_have_their_full_names(monitoring: Monitoring) -> None:
    (database,) = monitoring.of("google_sql_database_instance")
    for condition in monitoring.thresholds:
        used = condition["condition_threshold"][0]["filter"]
        if "cloudsql_database" in used:
            assert f'resource.labels.database_id = "my-project:{database["name"]}"' in used
        if "run.googleapis.com" in used:
            assert re.search(r'resource\.labels\.service_name = ("mem-mcp"|one_of\("mem-)', used)
        assert not re.search(r'_name\s*[:=~]+\s*"?\^?mem"', used)


def test_every_event_of_an_alert_or_chart_is_counted_and_every_counted_event_is_logged(monitoring: Monitoring) -> None:
    code = "\n".join(file.read_text() for file in (ROOT / "functions" / "mnemosyne").rglob("*.py"))
    logged = set(re.findall(r'(?:log|self)\.(?:info|warning|error|exception|fault)\(\s*"([a-z_]+)"', code))
    counted = set(re.findall(r'"([a-z_]+)"', monitoring.event_filter.split("jsonPayload.event=")[1]))
    assert len(counted) > 10
    assert counted <= logged
    assert {metric["filter"].split('jsonPayload.event="')[1].strip('"') for name, metric in monitoring.metrics.items()
            if name != "mem/events" and "jsonPayload" in metric["filter"]} <= logged  # fmt: skip
    filters = [condition["condition_threshold"][0]["filter"] for condition in monitoring.thresholds]
    for chart in monitoring.charts:
        (data,) = chart["xyChart"]["dataSets"]
        filters.append(data["timeSeriesQuery"].get("timeSeriesFilter", {}).get("filter", ""))
    named = {
        event
        for used in filters
        for value in re.findall(r'metric\.labels\.event = (?:one_of\(([^)]*)\)|("[a-z_]+"))', used)
        for event in re.findall(r'"([a-z_]+)"', "".join(value))
    }
    assert len(named) > 10
    assert named <= counted
    assert re.search(r'"audit",[^)]*outcome="refused"', code)


def test_each_filter_of_events_reads_the_deployment_s_own_metric(monitoring: Monitoring) -> None:
    for metric in monitoring.metrics.values():
        assert {label["key"] for label in metric["metric_descriptor"][0]["labels"]} == set(metric["label_extractors"])
    keys = set(monitoring.metrics["mem/events"]["label_extractors"])
    assert keys == {"event", "outcome", "tool", "state", "cause", "reason"}
    for condition in monitoring.thresholds:
        used = condition["condition_threshold"][0]["filter"]
        if "metric.labels.event" in used:
            assert 'metric.type = "logging.googleapis.com/user/mem/events"' in used
            assert set(re.findall(r"metric\.labels\.(\w+)", used)) <= keys


def test_each_configured_recipient_is_notified_of_each_alert(monitoring: Monitoring) -> None:
    (channel,) = monitoring.of("google_monitoring_notification_channel")
    for policy in monitoring.of("google_monitoring_alert_policy"):
        assert policy["notification_channels"] == [channel["id"], "projects/p/notificationChannels/1"]


def test_each_alert_names_its_first_command_and_its_section_of_the_runbook(monitoring: Monitoring) -> None:
    for policy in monitoring.of("google_monitoring_alert_policy"):
        title = policy["display_name"].removeprefix("Mnemosyne (mem): ")
        text = policy["documentation"][0]["content"]
        assert text.endswith(f'"{title}".')
        assert re.match(r"First command:\n\n    (gcloud|terraform) ", text)


def test_the_runbook_has_a_section_for_each_alert(monitoring: Monitoring) -> None:
    part = MANUAL.split("## Alerts\n")[1].split("\n## ")[0]
    titles = {policy["display_name"].removeprefix("Mnemosyne (mem): ") for policy in
              monitoring.of("google_monitoring_alert_policy")}  # fmt: skip
    assert set(re.findall(r"^### (.+)$", part, re.MULTILINE)) == titles


def test_the_guide_states_the_right_number_of_billed_conditions(monitoring: Monitoring) -> None:
    more = "one more with each of `buckets`, `disk_limit_gb` and `domain_only`"
    match = re.search(rf"(\d+) alert conditions, {more}", GUIDE)
    assert match
    assert int(match[1]) + len(["buckets", "disk_limit_gb", "domain_only"]) == len(monitoring.conditions)


def test_the_alert_on_failed_backups_uses_the_system_events_of_the_database(monitoring: Monitoring) -> None:
    (condition,) = [condition for condition in monitoring.conditions if condition["condition_matched_log"]]
    used = condition["condition_matched_log"][0]["filter"]
    assert 'resource.labels.job_name="mem-migrate"' in used
    (database,) = monitoring.of("google_sql_database_instance")
    assert f'resource.labels.database_id="my-project:{database["name"]}"' in used
    assert 'protoPayload.methodName="cloudsql.instances.automatedBackup"' in used


def test_a_failed_call_of_each_schedule_fires_an_alert(monitoring: Monitoring) -> None:
    jobs = [job["name"] for job in monitoring.of("google_cloud_scheduler_job")]
    assert "mem-expire" in jobs
    failed = {"resource.type": "cloud_scheduler_job", "severity": "ERROR", "jsonPayload.status": "UNAUTHENTICATED"}
    title = "A backup, a migration or a background job failed"
    for job in jobs:
        assert monitoring.alerts([failed | {"resource.labels.job_id": job}]) == {title}
        assert monitoring.alerts([failed | {"resource.labels.job_id": job, "severity": "INFO"}]) == set()
    assert monitoring.alerts([failed | {"resource.labels.job_id": "other-expire"}]) == set()


@pytest.mark.parametrize("event", ["expiry_failed", "announcement_failed", "audit_lost", "audit_crashed"])
def test_a_failed_background_job_fires_an_alert_of_its_own_deployment_only(monitoring: Monitoring, event: str) -> None:
    def alerts(service: str) -> set[str]:
        entry = {"resource.type": "cloud_run_revision", "jsonPayload.event": event, "severity": "ERROR"}
        return monitoring.alerts([entry | {"resource.labels.service_name": service}])

    assert alerts("mem-migrate") == alerts("mem-mcp") == {"A backup, a migration or a background job failed"}
    assert alerts("other-migrate") == set()


def test_without_recipients_no_alert_condition_is_created(deployed: Workspace) -> None:
    own_monitoring = Monitoring(deployed.resources())
    assert own_monitoring.conditions == []
    assert own_monitoring.of("google_monitoring_uptime_check_config") == []
    assert len(own_monitoring.charts) == 15


SLOW = "One call in twenty takes longer than two seconds"


def test_alerts_on_answers_do_not_count_the_calls_of_the_canary(monitoring: Monitoring) -> None:
    """A call of the canary is slow, because it waits until a memory is stored. Another alert reports its failure."""
    assert monitoring.alerts([answered("mem-mcp", 503)]) == {"One answer in a hundred is a 5xx"}
    assert monitoring.alerts([answered("mem-mcp", 200, seconds=3)]) == {SLOW}
    assert monitoring.alerts([answered("mem-mcp", 503, path="/canary", seconds=40)]) == set()
    assert monitoring.alerts([answered("other-mcp", 503, seconds=3)]) == set()


@pytest.mark.parametrize(("state", "fires"), [("active", True), ("idle", False)])
def test_the_alert_on_instances_counts_instances_that_serve_requests(
    monitoring: Monitoring, state: str, fires: bool
) -> None:
    """Idle instances must not count. Cloud Run keeps instances for some minutes after their last request."""
    labels = {
        "metric.type": "run.googleapis.com/container/instance_count",
        "metric.labels.state": state,
        "resource.type": "cloud_run_revision",
        "resource.labels.service_name": "mem-mcp",
    }
    fired = monitoring.alerts([], [Point(labels, 5.0)])
    assert fired == ({"mcp has almost reached its maximum number of instances"} if fires else set())


FULL = "The database's disk is almost full"


@pytest.mark.parametrize(("gigabytes", "fires"), [(89, False), (91, True)])
def test_the_alert_on_the_disk_compares_the_data_with_the_limit_of_the_disk(
    monitoring: Monitoring, gigabytes: int, fires: bool
) -> None:
    """Cloud SQL enlarges a disk that is almost full, up to the limit."""
    (database,) = monitoring.of("google_sql_database_instance")
    labels = {
        "metric.type": "cloudsql.googleapis.com/database/disk/bytes_used",
        "resource.type": "cloudsql_database",
        "resource.labels.database_id": f"my-project:{database['name']}",
    }
    assert monitoring.alerts([], [Point(labels, gigabytes * 2**30)]) == ({FULL} if fires else set())


@pytest.fixture(scope="module")
def private(empty_plan: dict[str, Any]) -> Monitoring:
    """The monitoring of a deployment with at most one instance of mcp and without a limit of the disk.

    Members of Google Cloud call mcp.
    """
    return _of_plan(empty_plan)


def test_no_alert_watches_a_disk_without_a_limit(private: Monitoring) -> None:
    assert FULL not in [condition["display_name"] for condition in private.thresholds]


@pytest.mark.parametrize("mode", ["iam", pytest.param("iap", marks=pytest.mark.nightly)])
def test_no_uptime_check_is_created_for_a_service_that_refuses_google_s_checkers(
    empty: Workspace, monitoring: Monitoring, private: Monitoring, mode: str
) -> None:
    (alert,) = [
        threshold["display_name"]
        for threshold in monitoring.thresholds
        if "uptime_check/check_passed" in threshold["condition_threshold"][0]["filter"]
    ]
    behind_proxy = {"domain": "memory.example.com", "iap": True}
    own_monitoring = private if mode == "iam" else planned(empty, **NOTIFIED, **behind_proxy)
    assert own_monitoring.of("google_monitoring_uptime_check_config") == []
    assert own_monitoring.thresholds
    assert alert not in [threshold["display_name"] for threshold in own_monitoring.thresholds]


INSTANCES = "mcp has almost reached its maximum number of instances"


def test_no_alert_watches_the_instances_of_mcp_if_any_load_reaches_the_maximum(
    monitoring: Monitoring, private: Monitoring
) -> None:
    assert INSTANCES in [condition["display_name"] for condition in monitoring.thresholds]
    assert INSTANCES not in [condition["display_name"] for condition in private.thresholds]


@pytest.mark.nightly  # by day, only a maximum of one instance is tested
def test_no_alert_watches_the_instances_of_mcp_if_the_minimum_is_the_maximum(
    empty: Workspace, monitoring: Monitoring
) -> None:
    at_maximum = planned(empty, **NOTIFIED, **ENTRIES, mcp_min_instances=5)
    removed = {condition["display_name"] for condition in monitoring.thresholds} - {
        condition["display_name"] for condition in at_maximum.thresholds
    }
    assert removed == {INSTANCES, CERTIFICATE}


def test_the_uptime_check_calls_the_canary_of_mcp(monitoring: Monitoring) -> None:
    (check,) = monitoring.of("google_monitoring_uptime_check_config")
    assert check["monitored_resource"][0]["labels"]["host"] == "mem-mcp-123456789012.europe-west1.run.app"
    (request,) = check["http_check"]
    assert request["request_method"] == "POST"
    assert (request["content_type"], request["custom_content_type"]) == ("USER_PROVIDED", "application/json")
    assert base64.b64decode(request["body"]) == b"{}"
    assert request["service_agent_authentication"] == [{"type": "OIDC_TOKEN"}]
    mcp = next(
        function for function in monitoring.of("google_cloudfunctions2_function") if function["name"] == "mem-mcp"
    )
    settings = mcp["service_config"][0]["environment_variables"]
    assert settings["MNEMOSYNE_PUSH_AUDIENCE"] == f"https://{check['monitored_resource'][0]['labels']['host']}"
    agent = "service-123456789012@gcp-sa-monitoring-notification.iam.gserviceaccount.com"
    assert agent in settings["MNEMOSYNE_PUSH_SERVICE_ACCOUNT"].split(",")
    fields = ("path", "port", "use_ssl", "validate_ssl")
    assert [request[field] for field in fields] == ["/canary", 443, True, True]
    used = [threshold["condition_threshold"][0]["filter"] for threshold in monitoring.thresholds]
    (alert,) = [name for name in used if "uptime_check/check_passed" in name]
    assert f'metric.labels.check_id = "{check["uptime_check_id"]}"' in alert


CERTIFICATE = "The certificate of the domain expires within two weeks"


def test_with_domain_only_an_alert_watches_the_certificate(monitoring: Monitoring, complete: Applied) -> None:
    with_domain = Monitoring(complete.restored().resources())
    assert with_domain.of("google_monitoring_uptime_check_config")
    assert CERTIFICATE not in [condition["display_name"] for condition in with_domain.thresholds]
    (condition,) = [threshold for threshold in monitoring.thresholds if threshold["display_name"] == CERTIFICATE]
    assert "ssl_cert" in condition["condition_threshold"][0]["filter"]
    assert condition["condition_threshold"][0]["comparison"] == "COMPARISON_LT"


def test_every_topic_keeps_its_messages_for_a_replay(monitoring: Monitoring) -> None:
    topics = monitoring.of("google_pubsub_topic")
    assert len(topics) == 7
    assert {topic["message_retention_duration"] for topic in topics} == {"604800s"}


def test_budget_notifications_go_to_the_same_recipients(complete: Applied) -> None:
    """The alerts may have more recipients than a budget, which notifies at most five channels."""
    (budget,) = Monitoring(complete.restored().resources()).of("google_billing_budget")
    assert len(RECIPIENTS) > 5
    assert len(budget["all_updates_rule"][0]["monitoring_notification_channels"]) == 5


def test_the_check_workflow_calls_each_function_with_the_expected_audience(monitoring: Monitoring) -> None:
    (workflow,) = [
        candidate for candidate in monitoring.of("google_workflows_workflow") if candidate["name"] == "mem-check"
    ]
    steps = yaml.safe_load(workflow["source_contents"])["main"]["steps"]
    checks = {check["name"]: check for check in steps[0]["begin"]["assign"][2]["checks"]}
    deployed = {function["name"]: function for function in monitoring.of("google_cloudfunctions2_function")}
    assert {f"mem-{name}" for name in checks} == set(deployed) - {"mem-migrate"}
    for name, check in checks.items():
        settings = deployed[f"mem-{name}"]["service_config"][0]["environment_variables"]
        assert check["audience"] == settings["MNEMOSYNE_PUSH_AUDIENCE"]
        assert "mem-workflow@" in settings["MNEMOSYNE_PUSH_SERVICE_ACCOUNT"]
        assert check["url"].endswith("/canary" if name == "mcp" else "/health?deep=1")
