"""Cloud SQL, Cloud Run, Artifact Registry and Secret Manager, as far as an operator's gcloud calls their APIs."""

from typing import Any

from tests.fakes_wire.google.base import NOW, NUMBER, RoutedServer, route
from tests.fakes_wire.google.errors import Answer, refused, refused_of_old


class ServiceApis(RoutedServer):
    """Deployed services of a project."""

    def __init__(self) -> None:
        super().__init__()
        self.sql_instances: dict[str, dict[str, Any]] = {}
        """Fields of instances by name, which replace or extend the fields that every instance has."""
        self.run_services: dict[str, str] = {}
        """The revision that serves the traffic of each Cloud Run service, by service."""
        self.repositories: dict[str, str] = {}
        """Formats of Artifact Registry's repositories by name."""
        self.secrets: dict[str, list[str]] = {}
        """The states of the versions of each secret, by the name of the secret. The oldest version is first."""
        self.scheduler_regions = ["europe-west1", "us-central1", "us-east1"]

    # Cloud Scheduler: https://cloud.google.com/scheduler/docs/reference/rest/v1/projects.locations/list

    @route("GET", "/v1/projects/{project}/locations")
    def _scheduler_locations(self, body: Any, project: str) -> Answer:
        return 200, {
            "locations": [
                {"name": f"projects/{project}/locations/{region}", "locationId": region}
                for region in self.scheduler_regions
            ]
        }

    # Cloud SQL Admin: https://cloud.google.com/sql/docs/postgres/admin-api/rest/v1beta4

    def _instance(self, project: str, name: str) -> dict[str, Any]:
        return {
            "kind": "sql#instance",
            "name": name,
            "project": project,
            "state": "RUNNABLE",
            "databaseVersion": "POSTGRES_17",
            "instanceType": "CLOUD_SQL_INSTANCE",
            "region": "europe-west1",
            "gceZone": "europe-west1-b",
            "connectionName": f"{project}:europe-west1:{name}",
            "ipAddresses": [{"type": "PRIVATE", "ipAddress": "10.0.0.3"}],
            "settings": {"kind": "sql#settings", "tier": "db-g1-small", "availabilityType": "ZONAL"},
            "createTime": NOW,
            **self.sql_instances[name],
        }

    @route("GET", "/sql/v1beta4/projects/{project}/instances")
    def _instances(self, body: Any, project: str) -> Answer:
        items = [self._instance(project, name) for name in self.sql_instances]
        return 200, {"kind": "sql#instancesList"} | ({"items": items} if items else {})

    @route("GET", "/sql/v1beta4/projects/{project}/instances/{name}")
    def _one_instance(self, body: Any, project: str, name: str) -> Answer:
        if name not in self.sql_instances:
            return refused_of_old(404, "The Cloud SQL instance does not exist.", "instanceDoesNotExist")
        return 200, self._instance(project, name)

    @route("POST", "/sql/v1beta4/projects/{project}/instances/{name}/clone")
    def _clone(self, body: dict[str, Any], project: str, name: str) -> Answer:
        if name not in self.sql_instances:
            return refused_of_old(404, "The Cloud SQL instance does not exist.", "instanceDoesNotExist")
        clone = body["cloneContext"]["destinationInstanceName"]
        if clone in self.sql_instances:
            message = "The Cloud SQL instance already exists. When you delete an instance, you can't reuse the name of"
            message += " the deleted instance until one week from the deletion date."
            return refused_of_old(409, message, "instanceAlreadyExists")
        self.sql_instances[clone] = dict(self.sql_instances[name])
        return 200, self._sql_operation(project, "clone-1", "PENDING")

    @route("GET", "/sql/v1beta4/projects/{project}/operations/{name}")
    def _sql_operated(self, body: Any, project: str, name: str) -> Answer:
        return 200, self._sql_operation(project, name, "RUNNING" if self.under_way(name) else "DONE")

    def _sql_operation(self, project: str, name: str, status: str) -> dict[str, Any]:
        operation = {"kind": "sql#operation", "name": name, "operationType": "CLONE", "status": status}
        return operation | {"targetProject": project, "insertTime": NOW}

    # Cloud Run Admin v1, in the way of Knative: https://cloud.google.com/run/docs/reference/rest/v1/namespaces.services

    @route("GET", "/apis/serving.knative.dev/v1/namespaces/{project}/services/{name}")
    def _service(self, body: Any, project: str, name: str) -> Answer:
        if name not in self.run_services:
            return refused(404, f"Resource '{name}' of kind 'SERVICE' in region 'europe-west1' does not exist")
        revision = self.run_services[name]
        url = f"https://{name}-{NUMBER}.europe-west1.run.app"
        ready = [{"type": kind, "status": "True"} for kind in ("Ready", "ConfigurationsReady", "RoutesReady")]
        return 200, {
            "apiVersion": "serving.knative.dev/v1",
            "kind": "Service",
            "metadata": {
                "name": name,
                "namespace": NUMBER,
                "generation": 1,
                "resourceVersion": "AAAA",
                "labels": {"cloud.googleapis.com/location": "europe-west1"},
                "annotations": {"run.googleapis.com/ingress": "all"},
            },
            "spec": {
                "template": {"metadata": {}, "spec": {"containers": [{"image": "an-image"}]}},
                "traffic": [{"revisionName": revision, "percent": 100}],
            },
            "status": {
                "observedGeneration": 1,
                "conditions": ready,
                "latestReadyRevisionName": revision,
                "latestCreatedRevisionName": revision,
                "traffic": [{"revisionName": revision, "percent": 100}],
                "url": url,
                "address": {"url": url},
            },
        }

    @route("PUT", "/apis/serving.knative.dev/v1/namespaces/{project}/services/{name}")
    def _serve(self, body: dict[str, Any], project: str, name: str) -> Answer:
        self.run_services[name] = next(
            target["revisionName"] for target in body["spec"]["traffic"] if target.get("percent") == 100
        )
        return self._service(None, project, name)

    # Artifact Registry: https://cloud.google.com/artifact-registry/docs/reference/rest

    @route("GET", "/v1/projects/{project}/locations/{region}/repositories/{name}")
    def _repository(self, body: Any, project: str, region: str, name: str) -> Answer:
        full = f"projects/{project}/locations/{region}/repositories/{name}"
        if name not in self.repositories:
            return refused(404, "Requested entity was not found.")
        repository = {"name": full, "format": self.repositories[name], "mode": "STANDARD_REPOSITORY", "sizeBytes": "0"}
        return 200, repository | {"createTime": NOW, "updateTime": NOW}

    # Secret Manager: https://cloud.google.com/secret-manager/docs/reference/rest

    @route("GET", "/v1/projects/{project}/secrets/{secret}/versions")
    def _versions(self, body: Any, project: str, secret: str) -> Answer:
        if secret not in self.secrets:
            return refused(404, f"Secret [projects/{NUMBER}/secrets/{secret}] not found.")
        versions = [
            {"name": f"projects/{NUMBER}/secrets/{secret}/versions/{number}", "createTime": NOW, "state": state}
            for number, state in enumerate(self.secrets[secret], start=1)
        ]
        return 200, {"versions": versions[::-1], "totalSize": len(versions)}
