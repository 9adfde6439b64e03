"""The direction of imports, held by the source itself."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "functions" / "mnemosyne"

# Each part may import those named with it, and anything imports errors, observability and ids.
LEAVES = {"errors", "observability", "ids"}
ALLOWED = {
    "domain": {"domain"},
    "formats": {"formats", "domain"},
    "ports": {"domain"},
    "service": {"service", "formats", "ports", "domain"},
    "mcp": {"mcp", "service", "ports", "domain"},
    "http": {"http", "mcp", "service", "ports", "domain"},
    "adapters": {"adapters", "ports", "domain"},
    "settings": set(),
    "backends": {"settings", "adapters", "ports", "domain"},
    "bootstrap": {"backends", "settings", "http", "mcp", "adapters", "service", "ports", "domain"},
}


def _part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("mnemosyne."):
            names.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "mnemosyne":
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downward_only(path: Path) -> None:
    if _part(path) in LEAVES | {"__init__"}:
        assert not _imports(path) - LEAVES
    else:
        assert not _imports(path) - LEAVES - ALLOWED[_part(path)]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_settings_reads_the_environment(path: Path) -> None:
    if path.name not in ("settings.py", "observability.py"):
        assert "os.environ" not in path.read_text()


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_module_says_what_lives_there(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_infra_reaches_adapters_not_services() -> None:
    for path in (ROOT / "infra").rglob("*.py"):
        assert not _imports(path) & {"http", "mcp", "service"}, path


def test_importing_main_connects_to_nothing_and_imports_no_adapter() -> None:
    import subprocess
    import sys

    heavy = "google.genai google.cloud.pubsub_v1 google.cloud.sql pg8000 mnemosyne.adapters mcp.server tokenizers"
    code = f"import sys, main; print([name for name in {heavy.split()!r} if name in sys.modules])"
    printed = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "functions", capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == "[]"
