"""The configuration and the plan of a deployment."""

import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from infra.deploy import settings
from infra.deploy.variables import table
from mnemosyne.service.request_status import RETENTION
from mnemosyne.settings import Settings, variable
from tests.cloud_run.service import DEPLOYED, Limits
from tests.terraform.conftest import ROOT, Plan
from tests.terraform.workspace import MODULE as TERRAFORM
from tests.terraform.workspace import workspace

# Settings that are used only outside of Google Cloud, or that Cloud Run sets itself.
NOT_DEPLOYED = {"database_url", "kms_endpoint", "oauth_log_in_codes", "offline_statistics", "push_secret",
                "sqladmin_endpoint", "k_service"}  # fmt: skip
SECRETS = {"MNEMOSYNE_DB_PASSWORD", "MNEMOSYNE_OAUTH_CLIENT_SECRET", "GEMINI_API_KEY"}
BY_DAY = "durability.tftest.hcl"
"""The only one of the module's own test files that is also run by day."""


# By day, only one file is run. Each assertion needs a plan, so all files together take more than a minute.
@pytest.mark.parametrize(
    "file",
    [
        file.name if file.name == BY_DAY else pytest.param(file.name, marks=pytest.mark.nightly)
        for file in sorted(TERRAFORM.glob("tests/*.tftest.hcl"))
    ],
)
def test_the_assertions_of_terraform_s_own_tests_pass(file: str) -> None:
    with workspace(TERRAFORM) as own:
        done = own.run("test", f"-filter=tests/{file}")
    assert re.search(r"Success! \d+ passed, 0 failed", done.printed)


def test_a_misspelt_attribute_in_the_configuration_fails_the_validation(tmp_path: Path) -> None:
    copy = tmp_path / "terraform"
    shutil.copytree(TERRAFORM, copy, ignore=shutil.ignore_patterns(".terraform*", "tests"))
    text = (copy / "functions.tf").read_text()
    (copy / "functions.tf").write_text(re.sub(r"\bingress_settings\b(\s*=)", r"ingress_settingsx\1", text, count=1))
    with workspace(copy) as own:
        done = own.run("validate", ok=False)
    assert done.status == 1
    assert "ingress_settingsx" in done.printed


def test_the_functions_get_exactly_the_settings_that_the_code_reads() -> None:
    files = ("settings", "functions", "migrate")
    text = "".join((TERRAFORM / f"{name}.tf").read_text() for name in files)
    set_variables = set(re.findall(r"\b((?:MNEMOSYNE|GOOGLE|OTEL)_[A-Z_]+)\b\s*=", text)) | set(
        re.findall(r'key\s*=\s*"([A-Z_]+)"', text)
    )
    read = {variable(name) for name in Settings.model_fields if name not in NOT_DEPLOYED}
    assert set_variables - {"GEMINI_API_KEY"} == read  # google-genai reads these itself
    assert set_variables >= SECRETS


def test_the_settings_of_each_function_are_valid_together(plan: Plan) -> None:
    for function in ("mcp", "ingest", "dead-letter", "import-object", "auth", "migrate"):
        environment = _environment(plan, function)
        settings = Settings.from_environment(environment)
        assert settings.embedding_dimension == 768
        if function in ("ingest", "dead-letter", "import-object"):
            assert settings.push_audience.endswith(f"{function}-123456789012.europe-west1.run.app")


def _block(plan: Plan, function: str) -> str:
    """Return the part of the plan's text that is about a function."""
    name = "migrate" if function == "migrate" else rf'serving\["{function}"\]'
    address = rf"google_cloudfunctions2_function\.{name}"
    match = re.search(rf"# {address} will be created(.*?)\n    }}\n", plan.text, re.DOTALL)
    assert match, function
    return match[1]


def _environment(plan: Plan, function: str) -> dict[str, str]:
    """Return the environment variables of a function, with example values for those known only after an apply."""
    made_up = {
        "MNEMOSYNE_INSTANCE_CONNECTION_NAME": "my-project:europe-west1:m",
        "MNEMOSYNE_TOPIC": "projects/my-project/topics/t",
        "MNEMOSYNE_OUTCOME_TOPIC": "projects/my-project/topics/o",
        "MNEMOSYNE_DB_USER": "u@my-project.iam.gserviceaccount.com",
        "MNEMOSYNE_DB_PASSWORD": "secret",
        "MNEMOSYNE_OAUTH_CLIENT_SECRET": "secret",
        "MNEMOSYNE_OAUTH_PEOPLE": '[{"who": "*"}]',  # a plan shows a call; tests/oauth.tftest.hcl checks its value
        "MNEMOSYNE_RECEIPT_SIGNING_KEY": "projects/p/locations/l/keyRings/r/cryptoKeys/k",
        "MNEMOSYNE_OAUTH_SIGNING_KEY": "projects/p/locations/l/keyRings/r/cryptoKeys/k",
        "MNEMOSYNE_PUSH_SERVICE_ACCOUNT": "push@my-project.iam.gserviceaccount.com",
        "MNEMOSYNE_RUNTIME_USERS": "a,b",
    }
    block = _block(plan, function).partition("+ service_config {")[2]
    variables = re.search(r"\n( *)\+ environment_variables\s*=\s*\{(.*?)\n\1  \}", block, re.DOTALL)
    assert variables, function
    values = dict(re.findall(r'\+ "?([A-Z_]+)"?\s*=\s*(.+)', variables[2]))
    environment = {}
    for name, value in values.items():
        unknown = re.search(r"known after apply|^jsonencode", value)
        environment[name] = made_up[name] if unknown else value.strip().strip('"')
    for secret in SECRETS - {"GEMINI_API_KEY"}:
        if f'"{secret}"' in block:
            environment[secret] = made_up[secret]
    return environment


def test_a_plan_builds_the_archive_of_the_source(plan: Plan) -> None:
    file = zipfile.ZipFile(plan.archive)
    assert set(file.namelist()) == {"main.py", "requirements.txt", "mnemosyne/__init__.py"}
    assert file.read("main.py").startswith(b"# ")


def test_docs_grants_md_lists_each_grant_of_the_plan(plan: Plan) -> None:
    granted = set(
        re.findall(r'# (google_\w+_iam_member\.[^\n]+?) will be created.*?\+ role\s+= "([^"]+)"', plan.text, re.DOTALL)
    )
    assert len(granted) > 15
    listed = set(re.findall(r"^\| [^|]+ \| `(roles/[^`]+)` \| [^|]+ \| `([^`]+)` \|$", _page(), re.MULTILINE))
    assert {(address, role) for role, address in listed} == granted


def test_no_grant_is_a_primitive_role(plan: Plan) -> None:
    roles = set(re.findall(r'\+ role\s+= "([^"]+)"', plan.text))
    assert not roles & {"roles/owner", "roles/editor", "roles/viewer"}


def test_only_mcp_and_auth_allow_unauthenticated_callers(plan: Plan) -> None:
    everybody = re.findall(r'# (\S+) will be created\n(?:(?!# ).)*?"allUsers"\n', plan.text, re.DOTALL)
    assert everybody == [
        'google_cloud_run_v2_service_iam_member.auth["allUsers"]',
        'google_cloud_run_v2_service_iam_member.mcp["allUsers"]',
    ]


def test_no_secret_is_in_the_plan(plan: Plan) -> None:
    assert not re.search(r"password\s+= \"", plan.text)
    assert "password_wo" in plan.text
    assert "upstream-secret" not in plan.text


def _page() -> str:
    return (ROOT / "docs" / "grants.md").read_text()


def test_docs_variables_md_is_generated_from_the_variables() -> None:
    assert (ROOT / "docs" / "variables.md").read_text() == table(), "make docs"


@pytest.mark.parametrize("target", ["deploy", "destroy", "key"])
def test_make_requires_the_variable_project(target: str) -> None:
    completed = subprocess.run(["make", "-s", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert completed.returncode != 0
    assert f"make {target} PROJECT=" in completed.stderr


def test_the_front_end_of_the_tests_has_the_limits_of_the_deployment(plan: Plan) -> None:
    for target, limits in DEPLOYED.items():
        block = _block(plan, target.replace("_", "-"))
        planned = dict(re.findall(r"\+ (max_instance\w+|timeout_seconds)\s+= (\d+)", block))
        assert limits == Limits(
            concurrency=int(planned["max_instance_request_concurrency"]),
            timeout_seconds=int(planned["timeout_seconds"]),
            max_instances=int(planned["max_instance_count"]),
        )


def test_the_time_that_requests_are_reported_as_queued_is_the_topic_s_retention() -> None:
    pubsub = (ROOT / "terraform" / "modules" / "mnemosyne" / "pubsub.tf").read_text()
    (seconds,) = re.findall(r'(?m)^  retention += "(\d+)s"$', pubsub)
    assert int(seconds) == RETENTION.total_seconds()


def test_docs_settings_md_is_generated_from_the_settings() -> None:
    assert (ROOT / "docs" / "settings.md").read_text() == settings.table(), "make docs"
