"""The scripts of infra/deploy read the variables of a deployment from the same places as Terraform."""

import os
import subprocess

import pytest

from tests.terraform.gcloud_operator import Scripts
from tests.terraform.workspace import ROOT


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ('  name = "prod" # ours\n', "prod"),
        ('/* the old one\nname = "old"\n*/\n\tname="prod"\n', "prod"),
        ('labels = {\nname = "a } \\" b"\n}\nname = "prod"\n', "prod"),
        ('people = [\n{ who = "*" },\n]\nlabels = {\nname = "memory"\n}\n', "mnemosyne"),
        ('// name = "old"\nnames = "older"\n', "mnemosyne"),
        ('\ufeffname = "prod"\r\n', "prod"),
    ],
)
def test_the_scripts_read_the_same_name_as_terraform(scripts: Scripts, file: str, name: str) -> None:
    """If they read another name, `make deploy` and `make destroy` would change the wrong deployment."""
    scripts.tfvars.write_text(file)
    assert scripts.run('printf %s "$DEPLOYMENT"').stdout == name


@pytest.mark.parametrize(
    ("file", "text", "refused_"),
    [
        ("more.auto.tfvars", 'name = "other"\n', True),
        ("more.auto.tfvars", 'labels = {\n  name = "memory"\n}\n', False),
        ("terraform.tfvars.json", '{"project": "p", "region": "us-east1"}', True),
    ],
)
def test_a_name_or_region_in_a_file_that_the_scripts_do_not_read_is_refused(
    scripts: Scripts, file: str, text: str, *, refused_: bool
) -> None:
    (scripts.tfvars.parent / file).write_text(text)
    completed = scripts.run("true")
    assert (f"{file} sets name or region" in completed.stderr, completed.returncode != 0) == (refused_, refused_)


@pytest.mark.parametrize(
    ("files", "auth_mode"),
    [
        ({}, "iam"),
        ({"terraform.tfvars": "api_key"}, "api_key"),
        ({"terraform.tfvars": "api_key", "a.auto.tfvars": "oauth"}, "oauth"),
        ({"terraform.tfvars": "api_key", "a.auto.tfvars": "oauth", "b.auto.tfvars": "iam"}, "iam"),
        ({"terraform.tfvars": "api_key", "a.auto.tfvars": "oauth", "Our own.auto.tfvars": "iam"}, "oauth"),
        ({"terraform.tfvars": "api_key", "a.auto.tfvars": "oauth", "environments/test.tfvars": "iam"}, "iam"),
    ],
)
def test_the_scripts_read_a_variable_with_the_precedence_of_terraform(
    scripts: Scripts, files: dict[str, str], auth_mode: str
) -> None:
    for name, value in files.items():
        file = scripts.tfvars.parent / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f'auth_mode = "{value}"\n' + ('name = "test"\n' if "/" in name else ""))
    environment = {"ENVIRONMENT": "test"} if any("/" in name for name in files) else {}
    completed = scripts.run("configured auth_mode api_key", TF_VAR_auth_mode="iam", **environment)
    assert (completed.stdout, completed.stderr) == (auth_mode, "")


def test_an_environment_variable_of_terraform_does_not_override_a_file(scripts: Scripts) -> None:
    """A variable such as TF_VAR_region may be set for another configuration of Terraform on the machine."""
    environment = {"TF_VAR_region": "us-central1", "TF_VAR_name": "other"}
    assert scripts.run('printf "%s %s" "$DEPLOYMENT" "$REGION"', **environment).stdout == "other us-central1"
    scripts.tfvars.write_text('name = "prod"\nregion = "europe-west3"\n')
    assert scripts.run('printf "%s %s" "$DEPLOYMENT" "$REGION"', **environment).stdout == "prod europe-west3"


@pytest.mark.parametrize("name", ["REGION", "DEPLOYMENT"])
def test_make_refuses_a_name_or_region_from_the_environment(name: str) -> None:
    """Tutorials of Google export REGION.

    The deployment would be created there, and its region cannot be changed later.
    """
    environment = {"PATH": os.environ["PATH"], name: "us-central1"}
    command = ["make", "require-project", "PROJECT=p"]
    refused = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert f"add it to the command: make require-project … {name}=us-central1." in refused.stderr
    given = [*command, f"{name}=us-east1"]
    assert subprocess.run(given, cwd=ROOT, env=environment, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("argument", "passed"),
    [("", 'ENVIRONMENT=""'), ("ENV=staging", 'ENVIRONMENT="staging"'), ("DEPLOYMENT=other", 'DEPLOYMENT="other"')],
)
def test_make_passes_the_environment_and_the_deployment_of_its_arguments(argument: str, passed: str) -> None:
    """The environment variable ENV names a file that shells read at their start."""
    environment = {"PATH": os.environ["PATH"], "ENV": "/home/ada/.shrc"}
    command = ["make", "-n", "deploy", "PROJECT=p", *argument.split()]
    printed = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert passed in printed
