"""The commands, variables and names in the guides for operators exist."""

import json
import re
import shlex
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
import yaml

from mnemosyne.settings import Settings
from tests.fakes_wire.google.environment import gcloud_environment
from tests.terraform.conftest import TERRAFORM
from tests.terraform.workspace import ROOT

PAGES = {name: (ROOT / "docs" / name).read_text() for name in ("deployment.md", "operations.md", "runbook.md")}
TEXT = "\n".join(PAGES.values())
DEPLOY = ROOT / "infra" / "deploy"


def _commands(program: str) -> list[str]:
    """Return the documented commands of a program, from code blocks and inline code, also those within a pipe."""
    blocks = re.findall(r"^ {4,}(\S.*)$", TEXT, re.MULTILINE)
    inline = re.findall(r"`([^`\n]+)`", TEXT)
    parts = [
        part.strip() for code in [*blocks, *inline] for part in re.split(r" \| | && |[$]\((?=terraform)|\)\"", code)
    ]
    return sorted({part for part in parts if part.startswith(f"{program} ")})


def _refused(commands: list[str], home: Path) -> dict[str, str]:
    """Return the errors of the commands that gcloud does not know. One process of gcloud checks all commands."""
    if shutil.which("gcloud") is None:
        pytest.skip("NOT TESTED: gcloud is not installed")
    file = home / "commands.json"
    valid_commands = [
        command.replace("MY-PROJECT", "my-project") for command in commands
    ]  # gcloud checks the form of an id
    file.write_text(json.dumps([{"command_string": command} for command in valid_commands]))
    lint = ["gcloud", "meta", "lint-gcloud-commands", f"--commands-file={file}"]
    environment = gcloud_environment("127.0.0.1:9", home)
    completed = subprocess.run(lint, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert completed.returncode == 0, completed.stderr
    results = json.loads(completed.stdout)
    assert len(results) == len(set(valid_commands))
    return {result["command_string"]: result["error_message"] for result in results if not result["success"]}


@pytest.mark.nightly
def test_gcloud_knows_each_command_and_each_of_its_options(tmp_path: Path) -> None:
    assert _refused([command for command in _commands("gcloud") if "…" not in command], tmp_path) == {}


def test_the_check_of_gcloud_s_commands_notices_a_wrong_option(tmp_path: Path) -> None:
    ((_, error),) = _refused(["gcloud sql backups list --instanze=x", "gcloud sql backups list"], tmp_path).items()
    assert "unrecognized arguments" in error


def test_the_guide_has_commands_of_each_program() -> None:
    counts = {program: len(_commands(program)) for program in ("gcloud", "terraform", "make", "mnemosyne")}
    assert all(count >= 4 for count in counts.values()), counts


@pytest.mark.parametrize("command", [command for command in _commands("make") if "…" not in command])
def test_make_has_each_target_and_uses_each_variable(command: str) -> None:
    words = shlex.split(command)
    makefile = (ROOT / "Makefile").read_text()
    for word in words[1:]:
        variable, is_variable, _ = word.partition("=")
        assert re.search(rf"\$\((if )?.*\b{variable}\b" if is_variable else rf"(?m)^{word}:", makefile), word


@pytest.mark.parametrize("command", _commands("terraform"))
def test_each_terraform_command_names_an_existing_directory_and_its_outputs(command: str) -> None:
    words = shlex.split(command)
    options = [word for word in words if word.startswith("-chdir=")]
    directory = ROOT / options[0].removeprefix("-chdir=") if options else TERRAFORM
    text = "\n".join(file.read_text() for file in directory.glob("*.tf"))
    if "output" in words:
        assert f'output "{words[-1]}"' in text
    for variable in re.findall(r"-var=(\w+)=", command):
        assert f'variable "{variable}"' in text


def test_each_variable_that_the_guide_sets_exists() -> None:
    variables = set(re.findall(r'^variable "(\w+)"', "\n".join(f.read_text() for f in TERRAFORM.glob("*.tf")), re.M))
    code = "\n".join([*re.findall(r"`([^`]+)`", TEXT), *re.findall(r"^ {4,}(\S.*)$", TEXT, re.MULTILINE)])
    named = set(re.findall(r"^([a-z_]+) += ", code, re.MULTILINE)) - {"organization", "name"}  # HCP Terraform's own
    assert len(named) > 8
    assert named <= variables | {"scopes", "namespace"}


def test_the_settings_for_a_machine_in_the_network_are_complete_and_name_the_instance() -> None:
    exports = re.findall(r"^    export (MNEMOSYNE_.*)$", PAGES["operations.md"], re.MULTILINE)
    documented = dict(
        word.split("=", 1) for line in exports for word in re.findall(r'MNEMOSYNE_\w+=(?:"[^"]*"|\S+)', line)
    )
    values = {
        "MNEMOSYNE_INSTANCE_CONNECTION_NAME": "p:r:i",
        "MNEMOSYNE_TOPIC": "projects/p/topics/t",
        "MNEMOSYNE_DB_PASSWORD": "secret",
    }
    settings = Settings.from_environment(documented | values)
    assert settings.instance_connection_name == "p:r:i"
    assert documented.keys() >= values.keys()


def test_each_link_points_to_an_existing_page_and_section() -> None:
    def anchors(text: str) -> set[str]:
        titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}

    for name, text in PAGES.items():
        for page, _, section in re.findall(r"\]\((?!https?://)([\w./-]*\.md)?(#([\w-]+))?\)", text):
            target = ROOT / "docs" / (page or name)
            assert target.is_file(), f"{name}: {page}"
            assert not section or section in anchors(target.read_text()), f"{name}: {page}#{section}"


@pytest.mark.parametrize("page", PAGES)
def test_each_file_named_in_the_guide_exists(page: str) -> None:
    named = re.findall(r"`((?:terraform|infra|tests|docs)/[\w./-]+)`", PAGES[page])
    made_by_the_reader = {"terraform/cloud_override.tf", "terraform/.terraform.lock.hcl"}
    missing = [path for path in named if not (ROOT / path).exists() and path not in made_by_the_reader]
    assert missing == []


MESSAGES = {
    "The first APIs cannot be enabled": DEPLOY / "deploy",
    "An organization policy refuses allUsers": DEPLOY / "preflight.sh",
    "belongs to project number": DEPLOY / "common.sh",
    "Cloud Scheduler is not available": DEPLOY / "preflight.sh",
    "no concurrent builds quota available": DEPLOY / "preflight.sh",
    "The migration failed": DEPLOY / "deploy",
    "domain_only would make mcp unreachable": TERRAFORM / "modules/mnemosyne/functions.tf",
    "63 characters": TERRAFORM / "modules/mnemosyne/variables.tf",
}


@pytest.mark.parametrize("message", MESSAGES)
def test_each_own_message_in_the_troubleshooting_table_is_in_the_code(message: str) -> None:
    table = PAGES["deployment.md"].split("## Troubleshooting")[1]
    assert message in table
    assert message in MESSAGES[message].read_text()


def test_the_readme_and_the_guide_agree_on_the_cost() -> None:
    match = re.search(r"costs about (\d+) without alerts, and (\d+) to (\d+) with them", PAGES["deployment.md"])
    assert match
    expected = f"about {match[1]} US dollars a month, and up to {match[3]} with alerts"
    assert expected in " ".join((ROOT / "README.md").read_text().split())


def test_the_pipeline_grants_as_many_roles_as_the_guide_says() -> None:
    text = (TERRAFORM / "modules/pipeline/main.tf").read_text()
    granted = re.findall(r'"roles/', text.split("granted_roles = [")[1].split("]")[0])
    agents = re.findall(r'"\w+"', text.split("agent_roles = [")[1].split("]")[0].partition(" in ")[2])
    assert (len(granted), len(agents)) == (6, 7)
    sentence = "the six roles that a deployment grants to its own accounts, and the roles of seven service agents"
    assert sentence in " ".join(PAGES["deployment.md"].split())


def test_the_github_workflow_reads_the_variables_listed_in_its_head() -> None:
    file = DEPLOY / "github_actions.yaml"
    head = file.read_text().split("name: Deploy")[0]
    used = set(re.findall(r"(?:vars|secrets)\.([A-Z_]+)", file.read_text()))
    assert used == set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b|\bPROJECT\b|\bDEPLOYMENT\b", head))
    assert yaml.safe_load(file.read_text())["name"] == "Deploy"


def test_each_test_named_in_platform_md_exists() -> None:
    text = (ROOT / "tests" / "PLATFORM.md").read_text()
    test_files = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("terraform/**/*.tftest.hcl")]
    # Leave out files in hidden folders, because tests install packages there, which have tests of their own.
    ours = [file for file in test_files if not any(part.startswith(".") for part in file.relative_to(ROOT).parts)]
    files: defaultdict[str, str] = defaultdict(str)
    for file in ours:  # two files may have the same name
        files[file.name] += file.read_text()
    named = re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", text)
    runs = re.findall(r"`(\w+\.tftest\.hcl): (\w+)`", text)
    assert len(named) > 40
    missing = [f"{name}::{test}" for name, test in named if f"def {test}(" not in files[name] and test]
    missing += [f"{name}: {run}" for name, run in runs if f'run "{run}"' not in files[name]]
    assert missing == []
    rows = [
        line for line in text.splitlines() if line.startswith("| ") and not line.startswith(("| behaviour", "| quest"))
    ]
    assert [row for row in rows if ".py" not in row and ".hcl" not in row] == []
