"""The organization, the log and the regions of a project, as far as an operator's gcloud calls their APIs."""

import re
from typing import Any

from tests.fakes_wire.google.base import NUMBER, RoutedServer, route
from tests.fakes_wire.google.errors import Answer

ORGANIZATION = "987654321"


class OrganizationApis(RoutedServer):
    """Policies of an organization, and log entries and regions of its project."""

    def __init__(self) -> None:
        super().__init__()
        self.in_organization = True
        self.org_policies: dict[str, list[dict[str, Any]]] = {}
        """The rules of effective policies, by constraint. All other policies have Google's default, which refuses
        nothing."""
        self.custom_constraints: list[dict[str, Any]] = []
        self.log: list[dict[str, Any]] = []
        """Entries of Cloud Logging, the newest last."""

    # Resource Manager v1: https://cloud.google.com/resource-manager/reference/rest/v1/projects/getAncestry

    @route("POST", "/v1/projects/{project}:getAncestry")
    def _ancestry(self, body: Any, project: str) -> Answer:
        ids = [("project", project), *([("organization", ORGANIZATION)] if self.in_organization else [])]
        return 200, {"ancestor": [{"resourceId": {"type": kind, "id": value}} for kind, value in ids]}

    # Organization Policy v2: https://cloud.google.com/resource-manager/docs/reference/orgpolicy/rest

    @route("GET", "/v2/projects/{project}/policies/{constraint}:getEffectivePolicy")
    def _effective_policy(self, body: Any, project: str, constraint: str) -> Answer:
        is_list = ".managed." not in constraint and not constraint.startswith("custom.")
        default = [{"allowAll": True}] if is_list else [{"enforce": False}]
        rules = self.org_policies.get(constraint, default)
        return 200, {"name": f"projects/{NUMBER}/policies/{constraint}", "spec": {"rules": rules}}

    @route("GET", "/v2/organizations/{organization}/customConstraints")
    def _custom_constraints(self, body: Any, organization: str) -> Answer:
        return 200, {"customConstraints": self.custom_constraints}

    # Cloud Scheduler: https://cloud.google.com/scheduler/docs/reference/rest/v1/projects.locations/list

    @route("GET", "/v1/projects/{project}/locations")
    def _scheduler_locations(self, body: Any, project: str) -> Answer:
        return 200, {"locations": [{"locationId": name} for name in ("europe-west1", "us-central1", "us-east1")]}

    # Cloud Logging v2: https://cloud.google.com/logging/docs/reference/v2/rest/v2/entries/list

    @route("POST", "/v2/entries:list")
    def _entries(self, body: dict[str, Any], **_: str) -> Answer:
        entries = [entry for entry in reversed(self.log) if _matches(body.get("filter", ""), entry)]
        return 200, {"entries": entries[: body.get("pageSize", 1000)]}


def _matches(condition: str, entry: dict[str, Any]) -> bool:
    """Evaluate a filter of comparisons, joined by AND, and by OR in parentheses."""
    for term in re.split(r" AND (?![^(]*\))", condition):
        choices = [
            re.fullmatch(r'([\w.]+)(=|>=)"([^"]*)"', comparison) for comparison in term.strip("() ").split(" OR ")
        ]
        if not all(choices):
            raise ValueError(f"the fake does not know the filter {term}")
        if not any(_holds(entry, *choice.groups()) for choice in choices if choice):
            return False
    return True


def _holds(entry: dict[str, Any], field: str, comparison: str, value: str) -> bool:
    field_value: Any = entry
    for name in field.split("."):
        field_value = field_value.get(name) if isinstance(field_value, dict) else None
    return field_value is not None and (field_value == value if comparison == "=" else field_value >= value)
