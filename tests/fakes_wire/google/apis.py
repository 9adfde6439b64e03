"""The Google APIs that an operator's gcloud calls for a deployment, with their state, on loopback."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.fakes_wire.google.base import NOW, NUMBER, Call, route
from tests.fakes_wire.google.buckets import Buckets
from tests.fakes_wire.google.errors import Answer, refused, refused_of_old
from tests.fakes_wire.google.organization import OrganizationApis

PROJECT = "my-project"


def succeeded(result: Any) -> dict[str, Any]:
    """Result of a successful execution: JSON text."""
    return {"state": "SUCCEEDED", "result": json.dumps(result), "status": _LAST_STEP}


def failed(payload: Any, context: str) -> dict[str, Any]:
    """Failure of an execution: the exception as JSON text, and the step that raised it."""
    where = {"column": "13", "line": "5"}
    trace = {"elements": [{"routine": "main", "step": "call_migrate", "position": where}]}
    error = {"payload": json.dumps(payload), "context": context, "stackTrace": trace}
    return {"state": "FAILED", "error": error, "status": _LAST_STEP}


_LAST_STEP = {"currentSteps": [{"routine": "main", "step": "call_migrate"}]}


class GoogleApis(OrganizationApis):
    """A Google Cloud project, with the APIs that gcloud calls.

    A test first sets the state of the project. After the commands, it reads the state and the recorded `calls`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.buckets = Buckets(self.url)
        self.key_grants: list[dict[str, Any]] = []
        """The bindings in the IAM policy that each key has."""
        self.workflows: dict[str, Callable[[str | None], dict[str, Any]]] = {}
        """Workflows by name. Each is a function that gets the argument (JSON text) and returns the end of the
        execution: the result of `succeeded` or `failed`."""
        self.executions: dict[str, dict[str, Any]] = {}
        self.peerings: dict[str, list[str]] = {}
        """Names of peerings by network."""

    def routed(self, call: Call, query: Mapping[str, str]) -> Answer:
        if "/storage/v1/b" in call.path:
            return self.buckets.answer(call.method, call.path, query, call.body)
        bucket, _, name = call.path.lstrip("/").partition("/")
        if bucket in self.buckets.known:  # Go's client reads objects by the XML API
            return self.buckets.read(bucket, name)
        return super().routed(call, query)

    # Service Usage: https://cloud.google.com/service-usage/docs/reference/rest

    @route("POST", "/v1/projects/{project}/services:batchEnable")
    def _enable_all(self, body: dict[str, Any], project: str) -> Answer:
        return 200, {"name": "operations/noop.DONE_OPERATION", "done": True, "response": {}}

    # Resource Manager v1: https://cloud.google.com/resource-manager/reference/rest/v1/projects

    @route("GET", "/v1/projects/{project}")
    def _project(self, body: Any, project: str) -> Answer:
        if project != PROJECT:
            return refused(403, "The caller does not have permission")
        project_fields = {"projectNumber": NUMBER, "projectId": project, "lifecycleState": "ACTIVE", "name": project}
        return 200, project_fields | {"createTime": NOW}

    # Cloud Storage and Cloud KMS: https://cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings.cryptoKeys

    @route("GET", "/storage/v1/projects/{project}/serviceAccount")
    def _storage_agent(self, body: Any, project: str) -> Answer:
        agent = f"service-{NUMBER}@gs-project-accounts.iam.gserviceaccount.com"
        return 200, {"kind": "storage#serviceAccount", "email_address": agent}

    @route("GET", "/v1/projects/{project}/locations/{location}/keyRings/{ring}/cryptoKeys/{key}:getIamPolicy")
    def _key_policy(self, body: Any, **key: str) -> Answer:
        return 200, {"version": 1, "etag": "BwX=", "bindings": self.key_grants}

    @route("POST", "/v1/projects/{project}/locations/{location}/keyRings/{ring}/cryptoKeys/{key}:setIamPolicy")
    def _grant_on_key(self, body: Any, **key: str) -> Answer:
        self.key_grants = body["policy"]["bindings"]
        return 200, body["policy"]

    # Workflow Executions: https://cloud.google.com/workflows/docs/reference/executions/rest

    @route("POST", "/v1/projects/{project}/locations/{region}/workflows/{workflow}/executions")
    def _execute(self, body: dict[str, Any], project: str, region: str, workflow: str) -> Answer:
        where = f"projects/{NUMBER}/locations/{region}/workflows/{workflow}"
        if workflow not in self.workflows:
            return refused(404, f"Workflow '{where}' not found")  # the wording is not known for sure
        name = f"{where}/executions/00000000-0000-4000-8000-{len(self.executions):012}"
        started = {"name": name, "createTime": NOW, "startTime": NOW, "workflowRevisionId": "000001-abc"}
        argument = body.get("argument")
        execution = started | ({"argument": argument} if argument else {})
        self.executions[name] = execution | {"endTime": NOW, "duration": "1s"} | self.workflows[workflow](argument)
        return 200, execution | {"state": "ACTIVE"}

    @route("GET", "/v1/projects/{project}/locations/{region}/workflows/{workflow}/executions/{name}")
    def _execution(self, body: Any, project: str, region: str, workflow: str, name: str) -> Answer:
        full = f"projects/{NUMBER}/locations/{region}/workflows/{workflow}/executions/{name}"
        if full not in self.executions:
            return refused(404, f"Execution '{full}' not found")
        return 200, self.executions[full]

    # Compute Engine: https://cloud.google.com/compute/docs/reference/rest/v1

    @route("GET", "/compute/v1/projects/{project}/global/networks")
    def _networks(self, body: Any, project: str) -> Answer:
        items = [self._network(project, name, names) for name, names in self.peerings.items()]
        return 200, {"kind": "compute#networkList", "items": items}

    @route("GET", "/compute/v1/projects/{project}/global/networks/{name}")
    def _one_network(self, body: Any, project: str, name: str) -> Answer:
        return 200, self._network(project, name, self.peerings[name])

    def _network(self, project: str, name: str, peerings: list[str]) -> dict[str, Any]:
        link = f"{self.url}/compute/v1/projects/{project}/global/networks/{name}"
        network = "https://www.googleapis.com/compute/v1/projects/a-tenant-tp/global/networks/servicenetworking"
        peering_fields = [{"name": peering, "network": network, "state": "ACTIVE"} for peering in peerings]
        return {"kind": "compute#network", "name": name, "selfLink": link} | (
            {"peerings": peering_fields} if peering_fields else {}
        )

    @route("POST", "/compute/v1/projects/{project}/global/networks/{network}/removePeering")
    def _remove_peering(self, body: dict[str, Any], project: str, network: str) -> Answer:
        link = f"projects/{project}/global/networks/{network}"
        if network not in self.peerings:
            return refused_of_old(404, f"The resource '{link}' was not found", "notFound")
        if body["name"] not in self.peerings[network]:  # the wording is not known for sure
            return refused_of_old(400, f"There is no peering with name '{body['name']}' on '{link}'.", "invalid")
        self.peerings[network].remove(body["name"])
        return 200, self._operation(project, "operation-1", link, "RUNNING")

    @route("POST", "/compute/v1/projects/{project}/global/operations/{name}/wait")
    def _compute_wait(self, body: Any, project: str, name: str) -> Answer:
        return self._compute_operation(body, project, name)

    @route("GET", "/compute/v1/projects/{project}/global/operations/{name}")
    def _compute_operation(self, body: Any, project: str, name: str) -> Answer:
        target = f"projects/{project}/global/networks/{next(iter(self.peerings), 'none')}"
        return 200, self._operation(project, name, target, "DONE")

    def _operation(self, project: str, name: str, target: str, status: str) -> dict[str, Any]:
        """Return the operation that removes a peering.

        See https://cloud.google.com/compute/docs/reference/rest/v1/globalOperations.
        """
        base = f"{self.url}/compute/v1/"
        link = f"{base}projects/{project}/global/operations/{name}"
        operation = {
            "kind": "compute#operation",
            "name": name,
            "operationType": "removePeering",
            "status": status,
            "selfLink": link,
        }
        return operation | {"targetLink": base + target, "progress": 100 if status == "DONE" else 0, "id": "1"}
