"""Evaluate the log metrics and alert conditions of Terraform against log lines and metric points, without a cloud.

Logs: https://cloud.google.com/logging/docs/view/logging-query-language. Metrics:
https://cloud.google.com/monitoring/api/v3/filters. Only the parts of both languages that the module uses are
implemented.
"""

import json
import re
import shlex
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

Fields = Mapping[str, Any]
"""The fields of a log entry or of a point, by their full names such as `jsonPayload.event`."""
NOTIFIED = {"alert_emails": ["ada@example.com"], "notification_channels": ["projects/p/notificationChannels/1"]}
ENTRIES = {
    "publishers": {"crm": {"namespace": "support", "members": ["group:crm@example.com"]}},
    "buckets": {"exports": {"bucket": "acme-exports", "namespace": "archive"}},
    "disk_limit_gb": 100,
}
"""Variables of a deployment with a publisher, a bucket and a limited disk."""
SEVERITIES = ("DEBUG", "INFO", "WARNING", "ERROR")


@dataclass(frozen=True)
class Point:
    """A value of a metric, with its labels by their full names."""

    labels: Fields
    value: float


def entry(line: str, service: str) -> dict[str, Any]:
    """Return the fields of a line that a function has written, as Cloud Logging stores them."""
    written = json.loads(line)
    fields = {f"jsonPayload.{name}": value for name, value in written.items() if name != "severity"}
    labels = {"resource.type": "cloud_run_revision", "resource.labels.service_name": service}
    return {**fields, **labels, "severity": written["severity"]}


def answered(service: str, status: int, *, path: str = "/mcp", seconds: float = 0.1) -> dict[str, Any]:
    """Return the line that Cloud Run writes to the request log for an answer of a function."""
    return {
        "log_id": "run.googleapis.com/requests",
        "severity": "ERROR" if status >= 500 else "INFO",
        "resource.type": "cloud_run_revision",
        "resource.labels.service_name": service,
        "httpRequest.requestUrl": f"https://memory.example.com{path}",
        "httpRequest.status": status,
        "httpRequest.latency": f"{seconds}s",
    }


@cache  # each filter is split again for each of hundreds of log entries
def _split(text: str, by: str) -> list[str]:
    """Split at a word that is outside of parentheses and quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for index, character in enumerate(text):
        if character == '"' and text[index - 1] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += {"(": 1, ")": -1}.get(character, 0)
            if depth == 0 and text.startswith(by, index):
                parts.append(text[start:index])
                start = index + len(by)
    return [*parts, text[start:]]


def selects(condition: str, fields: Fields) -> bool:
    """Evaluate a filter of comparisons, joined by AND and OR."""
    condition = condition.strip()
    if len(alternatives := _split(condition, " OR ")) > 1:
        return any(selects(alternative, fields) for alternative in alternatives)
    if len(terms := _split(condition, " AND ")) > 1:
        return all(selects(term, fields) for term in terms)
    if condition.startswith("("):
        return selects(condition[1:-1], fields)
    if log := re.fullmatch(r'log_id\("([^"]+)"\)', condition):
        return fields.get("log_id") == log[1]
    if severity := re.fullmatch(r"severity>=(\w+)", condition):
        return SEVERITIES.index(fields["severity"]) >= SEVERITIES.index(severity[1])
    if special := re.fullmatch(r'([\w.]+)(=~|!~|:|>)"?([^"]*)"?', condition):
        field, operator, value = str(fields.get(special[1], "")), special[2], special[3]
        if operator == ">":
            return bool(field) and float(field) > float(value)
        matches = re.search(re.escape(value) if operator == ":" else value, field) is not None
        return matches != (operator == "!~")
    if pattern := re.fullmatch(r'([\w.]+) = monitoring\.regex\.full_match\("([^"]+)"\)', condition):
        return re.fullmatch(pattern[2], str(fields.get(pattern[1], ""))) is not None
    parsed = re.fullmatch(r'([\w.]+) ?= ?(?:"([^"]*)"|\((.+)\)|one_of\((.+)\))', condition)
    assert parsed, f"{condition} is not an exact comparison"
    field, single, *several = parsed.groups()
    values = [single] if single is not None else re.findall(r'"([^"]*)"', "".join(filter(None, several)))
    return str(fields.get(field, "")) in values


def _extracted(extractor: str, fields: Fields) -> str:
    pattern = re.fullmatch(r'REGEXP_EXTRACT\(([\w.]+), "(.+)"\)', extractor)
    if pattern is None:
        plain = re.fullmatch(r"EXTRACT\(([\w.]+)\)", extractor)
        assert plain, extractor
        return str(fields.get(plain[1], ""))
    match = re.search(pattern[2], str(fields.get(pattern[1], "")))
    return match[1] if match else ""


def points(metrics: Iterable[Fields], entries: Iterable[Fields]) -> list[Point]:
    """Return the metric points that log-based metrics produce from log entries."""
    points = []
    for metric in metrics:
        for fields in entries:
            if not selects(metric["filter"], fields):
                continue
            labels = {
                f"metric.labels.{key}": _extracted(how, fields) for key, how in metric["label_extractors"].items()
            }
            labels["metric.type"] = f"logging.googleapis.com/user/{metric['name']}"
            labels |= {name: value for name, value in fields.items() if name.startswith("resource.")}
            value = _extracted(metric["value_extractor"], fields) if metric["value_extractor"] else "1"
            if value:
                points.append(Point(labels, float(value)))
    return points


def _reduced(values: Sequence[float], aligner: str, reducer: str) -> float:
    if reducer == "REDUCE_COUNT_FALSE":
        return sum(not value for value in values)
    if aligner.startswith("ALIGN_PERCENTILE"):
        return sorted(values)[int(len(values) * 0.95)]
    if aligner == "ALIGN_MEAN":
        return statistics.mean(values)
    if reducer == "REDUCE_SUM":
        return sum(values)
    return min(values) if reducer == "REDUCE_MIN" else max(values)


def _groups(filter_: str, aggregation: Fields, own_points: Iterable[Point]) -> dict[tuple[str, ...], float]:
    by = [field.replace(".label.", ".labels.") for field in aggregation["group_by_fields"] or ()]
    values = defaultdict(list)
    for point in own_points:
        if selects(filter_, point.labels):
            values[tuple(str(point.labels.get(name, "")) for name in by)].append(point.value)
    how = aggregation["per_series_aligner"], aggregation["cross_series_reducer"]
    return {group: _reduced(points, *how) for group, points in values.items()}


def fires(condition: Fields, entries: Iterable[Fields], own_points: Iterable[Point]) -> bool:
    """Whether a condition is met, if such entries and points continue for the duration that the condition requires."""
    if condition["condition_matched_log"]:
        return any(selects(condition["condition_matched_log"][0]["filter"], fields) for fields in entries)
    (threshold,) = condition["condition_threshold"]
    (aggregation,) = threshold["aggregations"]
    values = _groups(threshold["filter"], aggregation, own_points)
    if denominator := threshold["denominator_filter"]:
        totals = _groups(denominator, threshold["denominator_aggregations"][0], own_points)
        values = {group: value / totals[group] for group, value in values.items()}
    sign = -1 if threshold["comparison"] == "COMPARISON_LT" else 1
    return any(sign * value > sign * threshold["threshold_value"] for value in values.values())


class Monitoring:
    """The monitoring resources of one deployment, by type, from the values in Terraform's state or plan."""

    def __init__(self, resources: Sequence[Mapping[str, Any]]) -> None:
        self.resources = resources

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Values of the resources of a type."""
        return [resource["values"] for resource in self.resources if resource["type"] == kind]

    @property
    def conditions(self) -> list[dict[str, Any]]:
        """Every condition of every alert policy."""
        return [condition for policy in self.of("google_monitoring_alert_policy") for condition in policy["conditions"]]

    @property
    def thresholds(self) -> list[dict[str, Any]]:
        """The conditions on a metric."""
        return [condition for condition in self.conditions if condition["condition_threshold"]]

    @property
    def event_filter(self) -> str:
        """The filter of the metric of log events."""
        return str(self.metrics["mem/events"]["filter"])

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        """The log metrics by name."""
        return {metric["name"]: metric for metric in self.of("google_logging_metric")}

    @property
    def charts(self) -> list[dict[str, Any]]:
        """The charts of the dashboard."""
        (dashboard,) = self.of("google_monitoring_dashboard")
        return [tile["widget"] for tile in json.loads(dashboard["dashboard_json"])["mosaicLayout"]["tiles"]]

    def subscription_patterns(self) -> list[str]:
        """The regular expressions by which alerts select subscriptions."""
        filters = " ".join(condition["condition_threshold"][0]["filter"] for condition in self.thresholds)
        return re.findall(r'subscription_id = monitoring\.regex\.full_match\("([^"]+)"\)', filters)

    @property
    def commands(self) -> dict[str, str]:
        """The first command of each alert, by the alert's title."""
        policies = self.of("google_monitoring_alert_policy")
        return {
            policy["conditions"][0]["display_name"]: policy["documentation"][0]["content"].splitlines()[2].strip()
            for policy in policies
        }

    def shown(self, title: str, entries: Sequence[Fields]) -> list[Fields] | None:
        """The log entries that an alert's first command prints, or None if the command does not read the log."""
        command = self.commands[title]
        if not command.startswith("gcloud logging read "):
            return None
        condition = shlex.split(command)[-1]
        return [fields for fields in entries if selects(condition, fields)]

    def alerts(self, entries: Sequence[Fields], own_points: Sequence[Point] = ()) -> set[str]:
        """Return the titles of the alerts that fire for log entries and points of metrics."""
        everything = [*points(self.metrics.values(), entries), *own_points]
        return {condition["display_name"] for condition in self.conditions if fires(condition, entries, everything)}
