"""The scripts of infra/deploy read the name and the region of a deployment from tfvars files, as Terraform does."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.terraform.workspace import ROOT


@pytest.fixture
def tfvars(tmp_path: Path) -> Path:
    """The path of a missing `terraform.tfvars` next to the scripts."""
    shutil.copytree(ROOT / "infra/deploy", tmp_path / "infra/deploy")
    (tmp_path / "terraform").mkdir()
    return tmp_path / "terraform/terraform.tfvars"


def run(tfvars: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command after common.sh."""
    return subprocess.run(
        ["bash", "-c", f". infra/deploy/common.sh; {command}"],
        cwd=tfvars.parents[1],
        env={"PATH": "/usr/bin:/bin", "PROJECT": "p"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ('  name = "prod" # ours\n', "prod"),
        ('/* the old one\nname = "old"\n*/\n\tname="prod"\n', "prod"),
        ('labels = {\nname = "a } \\" b"\n}\nname = "prod"\n', "prod"),
        ('people = [\n{ who = "*" },\n]\nlabels = {\nname = "memory"\n}\n', "mnemosyne"),
        ('// name = "old"\nnames = "older"\n', "mnemosyne"),
    ],
)
def test_the_scripts_read_the_same_name_as_terraform(tfvars: Path, file: str, name: str) -> None:
    """Otherwise `make deploy` and `make destroy` would work on another deployment than the file names."""
    tfvars.write_text(file)
    assert run(tfvars, 'printf %s "$DEPLOYMENT"').stdout == name


@pytest.mark.parametrize(
    ("file", "text", "refused_"),
    [
        ("more.auto.tfvars", 'name = "other"\n', True),
        ("more.auto.tfvars", 'labels = {\n  name = "memory"\n}\n', False),
        ("terraform.tfvars.json", '{"project": "p", "region": "us-east1"}', True),
    ],
)
def test_a_name_or_region_in_a_file_that_the_scripts_do_not_read_is_refused(
    tfvars: Path, file: str, text: str, *, refused_: bool
) -> None:
    (tfvars.parent / file).write_text(text)
    completed = run(tfvars, "true")
    assert (f"{file} sets name or region" in completed.stderr, completed.returncode != 0) == (refused_, refused_)
