"""The direction of imports, held by the source itself."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "functions" / "mnemosyne"

# Each part may import those named with it, and anything imports errors, observability and ids.
LEAVES = {"errors", "observability", "ids"}
ALLOWED = {
    "domain": {"domain"},
    "formats": {"formats", "domain"},
    "ports": {"overview_ports", "dead_letter_ports", "domain"},
    "dead_letter_ports": {"domain"},
    "overview_ports": {"domain"},
    "import_ports": {"ports", "domain"},
    "oauth_ports": {"domain"},
    "oauth": {"oauth", "oauth_ports", "domain"},
    "service": {"service", "formats", "import_ports", "ports", "domain"},
    "mcp": {"mcp", "service", "ports", "domain"},
    "http": {"http", "oauth", "mcp", "service", "import_ports", "ports", "domain"},
    "adapters": {"adapters", "settings", "ports", "domain"},
    "settings": {"domain"},
    "services": {"settings", "adapters", "import_ports", "ports", "domain"},
    "doctor": {"services", "adapters", "ports", "domain"},
    "embedding_check": {"settings", "adapters", "domain"},
    "migrate": {"embedding_check", "services", "settings", "adapters", "domain"},
    "authorization_server": {"oauth", "oauth_ports", "settings", "adapters", "domain"},
    "bootstrap": {
        "authorization_server",
        "doctor",
        "migrate",
        "services",
        "settings",
        "http",
        "mcp",
        "adapters",
        "service",
        "ports",
        "domain",
    },
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


def _modules() -> dict[Path, str]:
    return {path: path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}


def test_imports_run_downward_only() -> None:
    upward = {}
    for path in _modules():
        allowed = LEAVES if _part(path) in LEAVES | {"__init__"} else LEAVES | ALLOWED[_part(path)]
        if wrong := _imports(path) - allowed:
            upward[str(path.relative_to(PACKAGE))] = wrong
    assert upward == {}


def test_only_settings_reads_the_environment() -> None:
    readers = [path.name for path, text in _modules().items() if "os.environ" in text]
    assert readers == ["settings.py"]


def test_every_module_says_what_lives_there() -> None:
    assert [path for path, text in _modules().items() if not ast.get_docstring(ast.parse(text))] == []


def test_the_command_reaches_use_cases_and_adapters_not_edges() -> None:
    for path in (ROOT / "infra").rglob("*.py"):
        assert not _imports(path) & {"http", "mcp"}, path
