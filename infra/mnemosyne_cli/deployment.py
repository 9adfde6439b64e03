"""A deployment, as its operator's commands reach it: through gcloud and a workflow within the project."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import click

from mnemosyne.errors import Unavailable

Command = Callable[..., None]


class Deployment:
    """One deployment; each kind of question has a workflow of its own."""

    def __init__(self, project: str, region: str, name: str) -> None:
        self._project, self._region, self._name = project, region, name

    def run(self, workflow: str, **asked: Any) -> dict[str, Any]:
        """Return the answer to what is asked; raises Unavailable where gcloud or the deployment refuses."""
        command = [
            "gcloud", "workflows", "run", f"{self._name}-{workflow}", f"--project={self._project}",
            f"--location={self._region}", f"--data={json.dumps(asked)}", "--format=json",
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - gcloud, as asked
        except (OSError, subprocess.CalledProcessError) as exc:
            raise Unavailable(f"gcloud could not ask the deployment: {getattr(exc, 'stderr', '') or exc}") from exc
        execution = json.loads(done.stdout)
        if execution.get("state") != "SUCCEEDED":
            raise Unavailable(f"the deployment refused: {execution.get('error', execution)}")
        answer: dict[str, Any] = json.loads(execution["result"])
        return answer


def where(command: Command) -> Command:
    """Let a command say which system it works on, and whether it prints JSON."""
    for option in (
        click.option("--data-dir", metavar="DIR", help="Work on a local system in this directory."),
        click.option("--deployment", default="mnemosyne", show_default=True, help="Its name, with --project."),
        click.option("--region", default="europe-west1", show_default=True, help="Its region, with --project."),
        click.option("--project", metavar="PROJECT", help="Work on the deployment in this project, through gcloud."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ):
        command = option(command)
    return command
