"""Call a deployment's `migrate` function: gcloud runs the project's workflow, which calls it."""

import json
import subprocess
from typing import Any

from mnemosyne.errors import Unavailable


class Deployment:
    """A deployment in Google Cloud."""

    def __init__(self, project: str, region: str, name: str) -> None:
        self._project, self._region, self._name = project, region, name

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        """Post to a path of the `migrate` function: keys, quotas, grants or people.

        Raises Unavailable if gcloud fails or the function answers with an error.
        """
        command = [
            "gcloud", "workflows", "run", f"{self._name}-operate", f"--project={self._project}",
            f"--location={self._region}", f"--data={json.dumps({'path': path, 'body': body})}", "--format=json",
        ]  # fmt: skip
        try:
            process = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - constant program, arguments without a shell
        except (OSError, subprocess.CalledProcessError) as exc:
            raise Unavailable(f"gcloud could not call the deployment: {getattr(exc, 'stderr', '') or exc}") from exc
        execution = json.loads(process.stdout)
        if execution.get("state") != "SUCCEEDED":
            raise Unavailable(f"the deployment refused: {execution.get('error', execution)}")
        answer: dict[str, Any] = json.loads(execution["result"])
        return answer
