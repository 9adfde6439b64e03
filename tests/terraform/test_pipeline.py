"""The pipeline's files: tests and deployments of a commit run as different accounts."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.terraform.workspace import PROGRAM, ROOT, write_program

TEST, DEPLOY = ROOT / "cloudbuild.yaml", ROOT / "infra" / "deploy" / "cloudbuild.yaml"
GIT = ("git", "-c", "user.name=x", "-c", "user.email=x@example.com")


def _read(file: Path) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(file.read_text())
    return read


def _account(file: Path) -> str:
    pipeline = _read(file)
    return re.sub(r"\$\{(_\w+)\}", lambda name: pipeline["substitutions"][name[1]], pipeline["serviceAccount"])


def test_tests_and_deploys_run_as_different_accounts() -> None:
    accounts = "projects/${PROJECT_ID}/serviceAccounts/mnemosyne-%s@${PROJECT_ID}.iam.gserviceaccount.com"
    assert (_account(TEST), _account(DEPLOY)) == (accounts % "test", accounts % "deploy")


def test_the_build_of_the_tests_uses_no_secret_and_no_bucket() -> None:
    pipeline = _read(TEST)
    assert [step["id"] for step in pipeline["steps"]] == ["lint", "test"]
    assert "availableSecrets" not in pipeline
    assert not re.search(r"gs://|gcloud storage|secretEnv", TEST.read_text())
    assert set(re.findall(r"\$\{(\w+)\}", TEST.read_text())) == {"PROJECT_ID", "_TEST_ACCOUNT"}


def test_a_skipped_test_fails_the_build_of_the_tests() -> None:
    assert '"NOT TESTED"' in TEST.read_text()


def test_the_deployment_runs_a_smoke_test_after_the_apply() -> None:
    text = DEPLOY.read_text()
    assert [step["id"] for step in _read(DEPLOY)["steps"]] == ["tested", "configuration", "plan", "apply", "smoke"]
    names = {"_DEPLOY_ACCOUNT", "_STATE_BUCKET", "_SMOKE_KEY", "_DEPLOYMENT", "_TEST_TRIGGER", "_BUILD", "_LOCATION"}
    assert set(re.findall(r"\$\{(\w+)\}", text)) == {"PROJECT_ID", *names}
    assert text.count("-lock-timeout=10m") == 2


def test_before_the_apply_only_terraform_files_of_the_repository_are_used() -> None:
    steps = _read(DEPLOY)["steps"]
    before = steps[: [step["id"] for step in steps].index("apply") + 1]
    for step in before:
        assert step["name"].startswith(("gcr.io/google.com/cloudsdktool/google-cloud-cli:", "hashicorp/terraform:"))
        script = "\n".join(step["args"])
        assert not re.search(r"\b(make|pytest|pip|python3?)\b|\.venv|\b(tests|infra|functions)/", script)


@pytest.mark.parametrize("file", [TEST, DEPLOY], ids=["test", "deploy"])
def test_every_image_is_named_by_tag_and_digest(file: Path) -> None:
    images = [step["name"] for step in _read(file)["steps"]]
    assert [image for image in images if not re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image)] == []


def test_an_image_has_the_same_digest_in_each_file() -> None:
    images = {step["name"] for file in (TEST, DEPLOY) for step in _read(file)["steps"]}
    assert len({image.split(":")[0] for image in images}) == len(images)


def test_the_smoke_test_installs_nothing() -> None:
    """The smoke test runs as the account that deploys, so an installed package could use the rights of this account."""
    (step,) = [step for step in _read(DEPLOY)["steps"] if step["id"] == "smoke"]
    script = step["args"][-1]
    assert "python3 -I -S infra/smoke.py" in script
    assert not re.search(r"\b(make|pip|uv|apt|apt-get|npm)\b", script)


def _tested(directory: Path, status_text: str) -> subprocess.CompletedProcess[str]:
    """Run the first step of the deployment in a clone.

    A fake gcloud prints `status_text` for the build of the tests.
    """
    programs = directory / "programs"
    programs.mkdir()
    described = 'test "$1 $2 $3 $4" = "builds describe b-1 --region=us-east1"'
    write_program(programs / "gcloud", f'{described} && echo "{status_text}"')
    script = _read(DEPLOY)["steps"][0]["args"][-1].replace("$$", "$")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "BUILD": "b-1", "LOCATION": "us-east1", "TEST_TRIGGER": "t-1"}
    command = ["bash", "-euo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, str]:
    """A repository with one commit, and the hash of the commit."""
    for command in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "one")):
        subprocess.run([*GIT, *command], cwd=tmp_path, check=True)
    head = subprocess.run([*GIT, "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True, check=True)
    return tmp_path, head.stdout.strip()


def test_the_commit_that_was_tested_is_deployed(clone: tuple[Path, str]) -> None:
    directory, head = clone
    completed = _tested(directory, f"SUCCESS,t-1,{head}")
    assert completed.returncode == 0, completed.stderr


@pytest.mark.parametrize("status_text", ["FAILURE,t-1,HEAD", "SUCCESS,t-2,HEAD", f"SUCCESS,t-1,{'0' * 40}", ""])
def test_an_untested_commit_is_not_deployed(clone: tuple[Path, str], status_text: str) -> None:
    directory, head = clone
    completed = _tested(directory, status_text.replace("HEAD", head))
    assert completed.returncode == 1
    assert completed.stdout.startswith('Nothing is deployed: build "b-1" is ')


@pytest.mark.parametrize(("head_of_main", "deployed"), [("HEAD", True), ("0" * 40, False)])
def test_github_deploys_no_commit_that_main_has_replaced(
    clone: tuple[Path, str], head_of_main: str, deployed: bool
) -> None:
    """Otherwise the deployment would go back to an earlier commit if somebody runs CI of that commit again."""
    directory, head = clone
    write_program(directory / "gh", f"echo {head_of_main.replace('HEAD', head)}")
    steps = _read(ROOT / "infra/deploy/github_actions.yaml")["jobs"]["apply"]["steps"]
    (step,) = [step for step in steps if step.get("name") == "The commit is the head of main"]
    assert step["if"] == "github.event_name == 'workflow_run'"
    environment = {"PATH": f"{directory}:{os.environ['PATH']}", "GITHUB_REPOSITORY": "acme/memory"}
    command = ["bash", "-ec", step["run"]]
    completed = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert (completed.returncode == 0) == deployed
    assert completed.stdout.startswith("Nothing is deployed: main has a newer commit, ") != deployed


def _applies(directory: Path, text: str, file: str) -> subprocess.CompletedProcess[str]:
    """Run the part of a pipeline that plans or applies the deployment `mnemosyne`.

    Of terraform's commands, only `terraform console` is really run.
    """
    if not PROGRAM:
        pytest.skip("NOT TESTED: terraform is not installed")
    shutil.copytree(ROOT / "terraform", directory / "terraform", symlinks=True)
    (directory / "terraform" / "terraform.tfvars").write_text(text)
    programs = directory / "programs"
    programs.mkdir()
    write_program(programs / "terraform", f'case "$*" in *console*) exec {PROGRAM} "$@" ;; esac')
    write_program(programs / "gcloud", "")
    pipeline = _read(ROOT / "infra" / "deploy" / file)
    if file == "cloudbuild.yaml":
        script = next(step["args"][-1] for step in pipeline["steps"] if step["id"] == "plan").replace("$$", "$")
        for name, value in {"PROJECT_ID": "my-project", "_DEPLOYMENT": "mnemosyne", "_STATE_BUCKET": "b"}.items():
            script = script.replace(f"${{{name}}}", value)
    else:
        script = next(step["run"] for step in pipeline["jobs"]["apply"]["steps"] if step.get("id") == "apply")
    script = script.replace("/tmp/variables", f"{directory}/variables").replace("/workspace", str(directory))
    environment = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "CHECKPOINT_DISABLE": "1",
        "GITHUB_OUTPUT": f"{directory}/output",
        "STATE_BUCKET": "b",
        "TF_VAR_project": "my-project",
        "TF_VAR_name": "mnemosyne",
    }
    if file == "cloudbuild.yaml":
        del environment["TF_VAR_name"]
    command = ["sh", "-ec", script]
    where = directory / "terraform"
    return subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)


def test_each_pipeline_of_a_project_reads_the_variables_of_its_deployment() -> None:
    """If all deployments had one file, all pipelines except one would refuse the name in the file."""
    copied = r"gcloud storage cp \"?(gs://\S+?)\"? terraform"
    build, workflow = DEPLOY.read_text(), (ROOT / "infra" / "deploy" / "github_actions.yaml").read_text()
    assert re.findall(copied, build) == ["gs://${_STATE_BUCKET}/${_DEPLOYMENT}.tfvars"]
    assert re.findall(copied, workflow) == ["gs://$STATE_BUCKET/$TF_VAR_name.tfvars"]


def test_the_github_workflow_can_use_another_bucket_for_the_state() -> None:
    """Another bucket is needed if a stranger already owns the default bucket, PROJECT-terraform."""
    workflow = _read(ROOT / "infra" / "deploy" / "github_actions.yaml")
    bucket = workflow["jobs"]["apply"]["env"]["STATE_BUCKET"]
    assert bucket == "${{ vars.STATE_BUCKET || format('{0}-terraform', vars.PROJECT) }}"


@pytest.mark.parametrize("file", ["cloudbuild.yaml", "github_actions.yaml"])
@pytest.mark.parametrize(
    ("name", "text"),
    [("mnemosyne", '/*\nname = "old"\n*/\n'), ("prod", 'labels = {\nname = "mnemosyne"\n}\nname="prod"\n')],
)
def test_a_pipeline_deploys_no_other_name_than_terraform_reads_from_the_variables(
    tmp_path: Path, name: str, text: str, file: str
) -> None:
    """Otherwise Terraform would create a second deployment."""
    completed = _applies(tmp_path, text, file)
    refused = f'mnemosyne.tfvars has name = "{name}", but this '
    assert (completed.returncode != 0) == (name != "mnemosyne"), completed.stderr
    assert completed.stdout.startswith(refused) == (name != "mnemosyne")
