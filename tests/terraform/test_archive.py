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
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest

from mnemosyne.cli.local.functions import free_port
from tests.terraform.conftest import ROOT, planned
from tests.terraform.workspace import MODULE, workspace
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


def _by_day(target: str) -> list[Any]:
    """Return all entry points as parameters. By day, only one of them is tested, because each starts a process."""
    return [name if name == target else pytest.param(name, marks=pytest.mark.nightly) for name in ENTRY_POINTS]


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
    """The files of the archive, and their requirements in a layer, as pip installs them before Python 3.14."""

    source: Path
    layer: Path
    MISMATCH: ClassVar[str] = "DO NOT MATCH THE HASHES"
    """Part of the installer's error message about a package whose hash differs from the requirements."""
    NO_HASH: ClassVar[str] = "Hashes are required in --require-hashes mode"
    """Part of the installer's error message about a package for which the requirements have no hash."""

    @property
    def python(self) -> str:
        """The runtime's Python with the packages of the layer."""
        return _runtime()

    def install(self, requirements: Path) -> subprocess.CompletedProcess[str]:
        """Install the requirements as the buildpack does."""
        return self._pip("install", "--requirement", str(requirements), *PIP_OPTIONS)

    def check(self) -> subprocess.CompletedProcess[str]:
        """Check that the versions of the installed packages are compatible."""
        return self._pip("check")

    def _pip(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run pip with the layer, and with no other package of this machine."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.layer), "PYTHONUSERBASE": str(self.layer)}
        environment |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        pip_configuration = Path.home() / ".config" / "pip"
        if pip_configuration.exists():  # the package index of this machine
            shutil.copytree(pip_configuration, self.layer / ".config" / "pip", dirs_exist_ok=True)
        return _run([self.python, "-m", "pip", *arguments], self.source, environment)


class BuiltByUv(Built):
    """The archive with its requirements in a virtual environment, as uv installs them for Python 3.14 or newer."""

    MISMATCH = "Hash mismatch"
    NO_HASH = "`--require-hashes` mode"

    @property
    def python(self) -> str:
        return str(self.layer / "bin" / "python")

    def install(self, requirements: Path) -> subprocess.CompletedProcess[str]:
        return self.uv("pip", "install", "-r", str(requirements), *UV_OPTIONS)

    def check(self) -> subprocess.CompletedProcess[str]:
        return self.uv("pip", "check")

    def uv(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run uv on the virtual environment, with the build's environment variables."""
        match = re.search(r'build_environment = \{ (\w+) = "(\w+)" \}', (MODULE / "functions.tf").read_text())
        assert match
        environment = {**os.environ, "VIRTUAL_ENV": str(self.layer), "UV_PYTHON_DOWNLOADS": "never"}
        environment |= {**_index_of_pip(), match[1]: match[2]}
        return _run([str(self.layer.with_name("tools") / "bin" / "uv"), *arguments], self.source, environment)


def _run(command: list[str], directory: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)


@cache
def _index_of_pip() -> Mapping[str, str]:
    """Return environment variables that make uv use the package indexes of pip's configuration.

    uv then takes each version from any index that has it, as pip does.
    """
    completed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    settings = dict(re.findall(r"^(?:global|:env:)\.([a-z-]+)='(.*)'$", completed.stdout, re.MULTILINE))
    names = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "find-links": "UV_FIND_LINKS"}
    values = {names[key]: value.replace("\\n", " ").strip() for key, value in settings.items() if key in names}
    return {**values, "UV_INDEX_STRATEGY": "unsafe-best-match"}


@pytest.fixture(scope="module")
def archive() -> dict[str, bytes]:
    """The contents of the files that Terraform puts into the archive, by name.

    The names are read by `terraform console`. A plan would take fifteen times as long, because Terraform hashes each
    file several times.
    """
    with workspace(MODULE, small=False) as own:
        paths = own.evaluate("local.archive")
        return {name: (own.directory / path).read_bytes() for name, path in paths.items()}


def _write(archive: Mapping[str, bytes], directory: Path) -> Path:
    for name, content in archive.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return directory


@pytest.fixture(scope="module", params=["uv", pytest.param("pip", marks=pytest.mark.nightly)])
def built(archive: dict[str, bytes], request: pytest.FixtureRequest) -> Iterator[Built]:
    """The archive with its requirements, installed by uv, and at night also by pip. uv takes a quarter of the time."""
    with tempfile.TemporaryDirectory(prefix="mnemosyne-archive-") as home:
        source = _write(archive, Path(home) / "source")
        new_built = Built(source, Path(home) / "layer")
        if request.param == "uv":
            tool = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(Path(home) / "tools"), "uv"]
            subprocess.run(tool, check=True)
            new_built = uv = BuiltByUv(source, Path(home) / ".venv")
            created = uv.uv("venv", str(uv.layer), "--clear", "--python", _runtime())
            assert created.returncode == 0, created.stderr
        compiled = _run([new_built.python, "-m", "compileall", "-f", "-q", "."], source, {"PATH": os.environ["PATH"]})
        assert compiled.returncode == 0, compiled.stdout
        installed = new_built.install(source / "requirements.txt")
        assert installed.returncode == 0, installed.stderr[-2000:]
        yield new_built


def test_the_archive_contains_only_the_files_that_the_functions_need(archive: dict[str, bytes]) -> None:
    assert {
        "main.py",
        "requirements.txt",
        "mnemosyne/app/entry_points.py",
        "mnemosyne/db/migrations/0001_baseline.sql",
    } <= archive.keys()
    kinds = {Path(name).suffix for name in archive}
    assert kinds == {".py", ".txt", ".sql", ".html", ".css", ".js"}
    pages = ROOT / "functions" / "mnemosyne" / "http" / "auth" / "templates"
    assert {f"mnemosyne/http/auth/templates/{page.name}" for page in pages.iterdir()} <= archive.keys()
    parts = {part for name in archive for part in Path(name).parts}
    assert not {"tests", "infra", "cli", "local", "__pycache__"} & parts
    schema = {str(file.relative_to(ROOT / "functions")) for file in (ROOT / "functions").rglob("*.sql")}
    assert {name for name in archive if name.endswith(".sql")} == schema


@pytest.mark.nightly  # by day, test_terraform.py looks at the archive of a small source
def test_a_plan_builds_the_archive_of_the_selected_files(archive: dict[str, bytes]) -> None:
    with contextmanager(planned)({}, "-target=module.mnemosyne.data.archive_file.functions", small=False) as plan:
        file = zipfile.ZipFile(plan.archive)
        assert {name: file.read(name) for name in file.namelist()} == archive


def test_the_archive_s_requirements_have_no_development_dependency(archive: dict[str, bytes]) -> None:
    requirements = archive["requirements.txt"].decode().casefold()
    for name in ("pytest", "mypy", "ruff", "hypothesis", "pixeltable", "wordllama", "psutil", "time-machine"):
        assert f"\n{name}" not in requirements


def test_each_requirement_of_the_archive_has_hashes(archive: dict[str, bytes]) -> None:
    entries = re.split(r"\n(?=\S)", archive["requirements.txt"].decode().strip())
    assert len(entries) > 50
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_archive_s_requirements_are_the_versions_pinned_by_the_repository(archive: dict[str, bytes]) -> None:
    assert archive["requirements.txt"] == (ROOT / "functions/requirements.txt").read_bytes()


def test_a_package_with_another_hash_is_refused(built: Built, tmp_path: Path) -> None:
    file = _changed_requirements(
        built.source, tmp_path, lambda entry: re.sub("sha256:[0-9a-f]{64}", f"sha256:{'0' * 64}", entry)
    )
    refused = built.install(file)
    assert refused.returncode != 0
    assert built.MISMATCH in refused.stderr


def test_a_package_without_a_hash_is_refused(built: Built, tmp_path: Path) -> None:
    """The installer requires hashes for all packages as soon as one requirement has a hash.

    The buildpack sets no option for this.
    """
    refused = built.install(
        _changed_requirements(built.source, tmp_path, lambda entry: f"{entry}\nasn1crypto==1.5.1\n")
    )
    assert refused.returncode != 0
    assert built.NO_HASH in " ".join(refused.stderr.split())


def _changed_requirements(source: Path, directory: Path, changed: Callable[[str], str]) -> Path:
    text = (source / "requirements.txt").read_text()
    entry = next(block for block in re.split(r"\n(?=\S)", text) if block.startswith("blinker=="))
    file = directory / "requirements.txt"
    file.write_text(changed(entry))
    return file


def test_the_installed_packages_are_compatible(built: Built) -> None:
    checked = built.check()
    assert checked.returncode == 0, checked.stdout + checked.stderr


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


@pytest.mark.parametrize("target", _by_day("mcp"))
def test_each_entry_point_of_the_archive_answers(built: Built, target: str) -> None:
    with _started(built, target, SETTINGS | (OAUTH if target == "auth" else {})) as client:
        answer = client.get("/health")
        assert (answer.status_code, answer.text) == (200, '{"status":"ok"}')
        assert target != "mcp" or client.post("/mcp", json=LIST).status_code == 401, "a call without a credential"


@pytest.mark.parametrize("target", _by_day("migrate"))
def test_a_function_without_settings_starts_and_reports_that_it_is_misconfigured(built: Built, target: str) -> None:
    """If the instance exited instead, the deployment would fail without naming a reason."""
    with _started(built, target, {}) as client:
        answer = client.get("/health")
    assert answer.status_code == 500
    # Only operators can call migrate, so its answer names the missing settings.
    expected = "settings: " if target == "migrate" else "the server is misconfigured; its log says how\n"
    assert expected in answer.text


def test_the_job_s_command_runs_from_the_archive_and_logs_the_cause_of_a_failure(
    archive: dict[str, bytes], tmp_path: Path
) -> None:
    text = (MODULE / "migrate.tf").read_text()
    arguments = json.loads(text.partition("args    = ")[2].partition("\n")[0])
    assert arguments[:2] == ["--", "python3"]
    completed = _run([sys.executable, *arguments[2:]], _write(archive, tmp_path), {"PATH": os.environ["PATH"]})
    assert completed.returncode == 1
    printed = completed.stdout.splitlines() + completed.stderr.splitlines()
    (failure,) = [line for line in printed if "migration_failed" in line]
    assert "MNEMOSYNE_TOPIC" in json.loads(failure)["error"]


@contextmanager
def _started(built: Built, target: str, settings: Mapping[str, str]) -> Iterator[httpx.Client]:
    """Start the function as the runtime does, with FUNCTION_TARGET and PORT."""
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
    with process, httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:

        def is_answered() -> bool:
            try:
                client.get("/health")
            except httpx.TransportError:
                return process.poll() is not None
            return True

        try:
            wait_until(is_answered, f"{target} answers")
            assert process.poll() is None, (process.stdout.read() if process.stdout else b"").decode()
            yield client
        finally:
            process.terminate()
            process.wait(20)
