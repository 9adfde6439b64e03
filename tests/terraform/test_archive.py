"""The source archive that Terraform builds, and a build and start like those of the runtime's buildpack.

The steps follow GoogleCloudPlatform/buildpacks at 21f28de, in cmd/python/functions_framework/lib/lib.go,
cmd/python/uv/lib/lib.go, pkg/python/python.go and pkg/python/requirements.go, under the deployed Python: compile every
file, install requirements.txt with pip or, from Python 3.14 on, with uv, check that the packages go together, and start
`functions-framework`, which reads from its environment what to serve.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from mnemosyne.cli.local.functions import free_port
from tests.terraform.conftest import ROOT, Plan, planned
from tests.terraform.workspace import MODULE
from tests.waiting import wait_until

pytestmark = pytest.mark.slow

SETTINGS = {
    "MNEMOSYNE_INSTANCE_CONNECTION_NAME": "p:europe-west1:m",
    "MNEMOSYNE_DB_NAME": "mnemosyne",
    "MNEMOSYNE_DB_USER": "u",
    "MNEMOSYNE_TOPIC": "projects/p/topics/t",
    "MNEMOSYNE_EMBEDDER": "gemini",
}
OAUTH = {
    "MNEMOSYNE_OAUTH_ISSUER": "https://auth.example",
    "MNEMOSYNE_OAUTH_RESOURCES": "https://mcp.example/mcp",
    "MNEMOSYNE_OAUTH_SIGNING_KEY": "projects/p/locations/l/keyRings/r/cryptoKeys/k",
    "MNEMOSYNE_OAUTH_PEOPLE": '[{"who": "@example.com"}]',
    "MNEMOSYNE_OAUTH_CLIENT_ID": "c",
    "MNEMOSYNE_OAUTH_CLIENT_SECRET": "s",
}
"""Additional settings of auth."""
PIP_OPTIONS = (
    *("--upgrade", "--upgrade-strategy", "only-if-needed", "--no-warn-script-location", "--no-warn-conflicts"),
    *("--force-reinstall", "--no-compile", "--disable-pip-version-check", "--no-cache-dir", "--user"),
)
UV_OPTIONS = ("--reinstall", "--link-mode=copy", "--no-cache")
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ENTRY_POINTS = ("mcp", "ingest", "dead_letter", "import_object", "auth", "migrate")


def _runtime() -> str:
    """The Python of the default runtime; skips with a reason where it is not installed."""
    runtime = re.search(
        r'variable "python_runtime".*?default\s+= "python3(\d+)"', (MODULE / "variables.tf").read_text(), re.S
    )
    assert runtime
    version = f"3.{runtime[1]}"
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    pythons = [*map(str, pyenv), shutil.which(f"python{version}") or ""]
    for python in filter(None, pythons):
        if subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip(f"NOT TESTED: the runtime's Python {version} is not installed")


@dataclass(frozen=True)
class Built:
    """The unpacked archive, and the layer with its installed requirements."""

    source: Path
    layer: Path
    python: str

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the runtime's Python with the layer, and with no other package of this machine."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.layer), "PYTHONUSERBASE": str(self.layer)}
        environment |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        return _run([self.python, *arguments], self.source, environment)


@dataclass(frozen=True)
class BuiltByUv:
    """The unpacked archive, and the virtual environment with its installed requirements."""

    source: Path
    layer: Path
    uv: str
    python: str
    build_environment: Mapping[str, str]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run uv on the virtual environment, with the build's environment variables."""
        environment = {**os.environ, "VIRTUAL_ENV": str(self.layer), "UV_PYTHON_DOWNLOADS": "never"}
        environment |= {**_index_of_pip(), **self.build_environment}
        return _run([self.uv, *arguments], self.source, environment)

    def install(self, requirements: Path) -> subprocess.CompletedProcess[str]:
        """Install as the buildpack does."""
        return self.run("pip", "install", "-r", str(requirements), *UV_OPTIONS)


def _run(command: list[str], directory: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


def _index_of_pip() -> dict[str, str]:
    """Return pip's package indexes as variables for uv; like pip, uv then takes each version from any index that has
    it."""
    completed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    settings = dict(re.findall(r"^(?:global|:env:)\.([a-z-]+)='(.*)'$", completed.stdout, re.MULTILINE))
    names = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "find-links": "UV_FIND_LINKS"}
    values = {names[key]: value.replace("\\n", " ").strip() for key, value in settings.items() if key in names}
    return {**values, "UV_INDEX_STRATEGY": "unsafe-best-match"}


@pytest.fixture(scope="module")
def plan() -> Iterator[Plan]:
    """A plan of the archive alone, with the real source."""
    yield from planned({}, "-target=module.mnemosyne.data.archive_file.functions", small=False)


@pytest.fixture(scope="module")
def built(plan: Plan) -> Iterator[Built]:
    with tempfile.TemporaryDirectory(prefix="mnemosyne-archive-") as home:
        new_built = Built(Path(home) / "source", Path(home) / "layer", _runtime())
        zipfile.ZipFile(plan.archive).extractall(new_built.source)
        compiled = new_built.run("-m", "compileall", "-f", "-q", ".")
        assert compiled.returncode == 0, compiled.stdout
        pip_configuration = Path.home() / ".config" / "pip"
        if pip_configuration.exists():  # the package index of this machine
            shutil.copytree(pip_configuration, new_built.layer / ".config" / "pip")
        installed = new_built.run("-m", "pip", "install", "--requirement", "requirements.txt", *PIP_OPTIONS)
        assert installed.returncode == 0, installed.stderr[-2000:]
        yield new_built


@pytest.fixture(scope="module")
def built_by_uv(plan: Plan) -> Iterator[BuiltByUv]:
    with tempfile.TemporaryDirectory(prefix="mnemosyne-archive-") as home:
        tools = Path(home) / "tools"
        tool = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tools), "uv"]
        subprocess.run(tool, check=True)
        match = re.search(r'build_environment = \{ (\w+) = "(\w+)" \}', (MODULE / "functions.tf").read_text())
        assert match
        uv = str(tools / "bin" / "uv")
        new_built = BuiltByUv(Path(home) / "source", Path(home) / ".venv", uv, _runtime(), {match[1]: match[2]})
        zipfile.ZipFile(plan.archive).extractall(new_built.source)
        completed = new_built.run("venv", str(new_built.layer), "--clear", "--python", new_built.python)
        assert completed.returncode == 0, completed.stderr
        installed = new_built.install(new_built.source / "requirements.txt")
        assert installed.returncode == 0, installed.stderr[-2000:]
        yield new_built


def test_the_archive_contains_only_the_files_that_the_functions_need(plan: Plan) -> None:
    names = zipfile.ZipFile(plan.archive).namelist()
    assert {
        "main.py",
        "requirements.txt",
        "mnemosyne/app/entry_points.py",
        "mnemosyne/db/migrations/0001_baseline.sql",
    } <= set(names)
    kinds = {Path(name).suffix for name in names}
    assert kinds == {".py", ".txt", ".sql", ".html", ".css", ".js"}
    pages = ROOT / "functions" / "mnemosyne" / "http" / "auth" / "templates"
    assert {f"mnemosyne/http/auth/templates/{page.name}" for page in pages.iterdir()} <= set(names)
    parts = {part for name in names for part in Path(name).parts}
    assert not {"tests", "infra", "cli", "local", "__pycache__"} & parts
    schema = {str(file.relative_to(ROOT / "functions")) for file in (ROOT / "functions").rglob("*.sql")}
    assert {name for name in names if name.endswith(".sql")} == schema


def test_the_archive_s_requirements_have_no_development_dependency(plan: Plan) -> None:
    requirements = zipfile.ZipFile(plan.archive).read("requirements.txt").decode().casefold()
    for name in ("pytest", "mypy", "ruff", "hypothesis", "pixeltable", "wordllama", "psutil", "time-machine"):
        assert f"\n{name}" not in requirements


def test_each_requirement_of_the_archive_has_hashes(plan: Plan) -> None:
    requirements = zipfile.ZipFile(plan.archive).read("requirements.txt").decode()
    entries = re.split(r"\n(?=\S)", requirements.strip())
    assert len(entries) > 50
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_archive_s_requirements_are_the_versions_pinned_by_the_repository(plan: Plan) -> None:
    assert zipfile.ZipFile(plan.archive).read("requirements.txt") == (ROOT / "functions/requirements.txt").read_bytes()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (lambda entry: re.sub("sha256:[0-9a-f]{64}", f"sha256:{'0' * 64}", entry), "DO NOT MATCH THE HASHES"),
        (lambda entry: f"{entry}\nasn1crypto==1.5.1\n", "Hashes are required in --require-hashes mode"),
    ],
    ids=["another hash", "one without"],
)
def test_pip_refuses_a_package_without_the_right_hash(
    built: Built, tmp_path: Path, changed: Callable[[str], str], message: str
) -> None:
    """A single hash in the requirements turns this mode of pip on; the buildpack sets no option for it."""
    file = _changed_requirements(built.source, tmp_path, changed)
    refused = built.run("-m", "pip", "install", "--requirement", str(file), *PIP_OPTIONS)
    assert refused.returncode != 0
    assert message in refused.stderr


@pytest.mark.nightly  # the installation takes longer than the check
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (lambda entry: re.sub("sha256:[0-9a-f]{64}", f"sha256:{'0' * 64}", entry), "Hash mismatch"),
        (lambda entry: f"{entry}\nasn1crypto==1.5.1\n", "`--require-hashes` mode"),
    ],
    ids=["another hash", "one without"],
)
def test_uv_refuses_a_package_without_the_right_hash(
    built_by_uv: BuiltByUv, tmp_path: Path, changed: Callable[[str], str], message: str
) -> None:
    refused = built_by_uv.install(_changed_requirements(built_by_uv.source, tmp_path, changed))
    assert refused.returncode != 0
    assert message in " ".join(refused.stderr.split())


def _changed_requirements(source: Path, directory: Path, changed: Callable[[str], str]) -> Path:
    text = (source / "requirements.txt").read_text()
    entry = next(block for block in re.split(r"\n(?=\S)", text) if block.startswith("blinker=="))
    file = directory / "requirements.txt"
    file.write_text(changed(entry))
    return file


def test_the_installed_packages_are_compatible(built: Built) -> None:
    checked = built.run("-m", "pip", "check")
    assert checked.returncode == 0, checked.stdout


@pytest.mark.nightly
def test_the_packages_installed_by_uv_are_compatible(built_by_uv: BuiltByUv) -> None:
    checked = built_by_uv.run("pip", "check")
    assert checked.returncode == 0, checked.stderr


@pytest.mark.nightly
def test_an_entry_point_works_with_the_packages_installed_by_uv(built_by_uv: BuiltByUv) -> None:
    assert _answer(built_by_uv, "ingest", SETTINGS, "/health").status_code == 200


APPS = """
import asyncio
import main
for target in {targets}:
    asyncio.run(getattr(main, target)(None))._build()
    print(target)
"""


def test_the_app_of_each_entry_point_is_built_with_the_installed_packages(built: Built) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONUSERBASE": str(built.layer), **SETTINGS, **OAUTH}
    completed = _run([built.python, "-c", APPS.format(targets=ENTRY_POINTS)], built.source, environment)
    assert tuple(completed.stdout.split()) == ENTRY_POINTS, completed.stderr


# Each starts a process; mcp imports the most packages.
@pytest.mark.parametrize(
    "target",
    [target if target == "mcp" else pytest.param(target, marks=pytest.mark.nightly) for target in ENTRY_POINTS],
)
def test_each_entry_point_of_the_archive_answers(built: Built, target: str) -> None:
    answer = _answer(built, target, SETTINGS | (OAUTH if target == "auth" else {}), "/health")
    assert (answer.status_code, answer.text) == (200, '{"status":"ok"}')


def test_the_deployed_mcp_refuses_a_call_without_a_credential(built: Built) -> None:
    assert _answer(built, "mcp", SETTINGS, "/mcp", LIST).status_code == 401


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(target, marks=[] if target in ("mcp", "migrate") else [pytest.mark.nightly])
        for target in ENTRY_POINTS
    ],
)
def test_a_function_without_settings_starts_and_reports_that_it_is_misconfigured(built: Built, target: str) -> None:
    """An instance that exits would be a deployment that fails without a reason."""
    answer = _answer(built, target, {}, "/health")
    assert answer.status_code == 500
    # Only operators reach migrate, so it names the settings.
    expected = "settings: " if target == "migrate" else "the server is misconfigured; its log says how\n"
    assert expected in answer.text


def test_the_job_s_command_runs_from_the_archive_and_logs_the_cause_of_a_failure(plan: Plan, tmp_path: Path) -> None:
    zipfile.ZipFile(plan.archive).extractall(tmp_path)
    text = (MODULE / "migrate.tf").read_text()
    arguments = json.loads(text.partition("args    = ")[2].partition("\n")[0])
    assert arguments[:2] == ["--", "python3"]
    environment = {"PATH": os.environ["PATH"]}
    completed = subprocess.run(
        [sys.executable, *arguments[2:]], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert completed.returncode == 1
    (line,) = [
        printed_line
        for printed_line in completed.stdout.splitlines() + completed.stderr.splitlines()
        if "migration_failed" in printed_line
    ]
    assert "MNEMOSYNE_TOPIC" in json.loads(line)["error"]


def _answer(
    built: Built | BuiltByUv, target: str, settings: Mapping[str, str], path: str, body: object = None
) -> httpx.Response:
    """Start the function as the runtime does, with FUNCTION_TARGET and PORT, and send one request."""
    port = free_port()
    environment = {
        "PATH": f"{built.layer / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONUSERBASE": str(built.layer),
        "FUNCTION_TARGET": target,
        "PORT": str(port),
        **settings,
    }
    process = subprocess.Popen(
        ["functions-framework"], cwd=built.source, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    answers: list[httpx.Response] = []

    def is_answered() -> bool:
        url = f"http://127.0.0.1:{port}{path}"
        try:
            answers.append(httpx.get(url) if body is None else httpx.post(url, json=body))
        except httpx.TransportError:
            return process.poll() is not None
        return True

    try:
        wait_until(is_answered, f"{target} answers")
        assert answers, (process.stdout.read() if process.stdout else b"").decode()
        return answers[-1]
    finally:
        process.terminate()
        process.wait(20)
        if process.stdout:
            process.stdout.close()
