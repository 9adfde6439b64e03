"""Imports point downward only, and only the settings read the environment."""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "functions"
PACKAGE = SOURCES / "mnemosyne"

# Each room may import itself, the leaves and the rooms named with it. A module belongs to the longest name that fits.
LEAVES = {"errors", "observability", "ids", ""}
PORTS = {"ports.embedder", "ports.memories", "ports.queue", "ports.identity", "ports.services"}
ALLOWED = {
    "domain": set(),
    "formats": {"domain"},
    "ports": {"domain"},
    "oauth": {"ports.identity", "ports.oauth", "domain"},
    "service": PORTS | {"ports.imports", "ports.admin", "ports.operator", "formats", "domain"},
    "mcp": PORTS | {"service", "domain"},
    "http.common": {"domain"},
    "http.console": {"mcp.app", "mcp.icon"},
    "http.mcp": {"http.common", "http.console", "mcp", "service", "ports.services", "domain"},
    "http.admin": {"http.common", "domain"},
    "http.auth": {"http.common", "oauth", "domain"},
    "http.push": {"http.push_message", "http.common", "service", "ports.services", "domain"},
    "http.push_message": {"service", "domain"},
    "db": set(),
    "settings": {"domain"},
    "adapters": {"db", "settings", "ports", "domain"},
    "app.container": {"settings", "adapters", "ports", "domain"},
    "app.doctor": {"app.container", "settings", "adapters", "ports", "domain"},
    "app.embedding_check": {"settings", "adapters", "domain"},
    "app.migrate": {"app.embedding_check", "app.container", "settings", "adapters", "domain"},
    "app.recall": {"adapters", "service", "ports", "domain"},
    "app.signing": {"settings", "adapters", "ports"},
    "app.operator": {
        "app.container",
        "app.doctor",
        "app.migrate",
        "app.recall",
        "app.signing",
        "service",
        "settings",
        "adapters",
        "ports",
        "domain",
    },
    "app.authorization": {"app.signing", "oauth", "ports.identity", "settings", "adapters"},
    "app.entry_points": {
        "app.authorization",
        "app.container",
        "app.doctor",
        "app.migrate",
        "app.operator",
        "settings",
        "http",
        "mcp",
        "adapters",
        "service",
        "ports",
        "domain",
    },
    "app.functions": {"app.entry_points", "http.common"},
    "cli": {"app", "adapters", "service", "formats", "settings", "ports", "domain"},
}
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}


def _module(path: Path) -> str:
    """The name of a file below the package, as `http.push`; the package itself is the empty name."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


def _exists(module: str) -> bool:
    at = SOURCES / module.replace(".", "/")
    return at.is_dir() or at.with_suffix(".py").is_file()


def _named(node: ast.AST, package: str) -> Iterator[str]:
    """The modules that a node imports, or names in a string as `import_module` takes it."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
            base = ".".join([*above, *([module] if module else [])])
            yield from (one if _exists(one := f"{base}.{alias.name}") else base for alias in names)
        case ast.Constant(value=str(text)) if re.fullmatch(r"mnemosyne(\.\w+)+\.?", text) and _exists(text.rstrip(".")):
            yield text.rstrip(".")


def _imports(source: str, package: str = "mnemosyne") -> set[str]:
    """The package's modules that a source imports, however it does so; `package` is where it is."""
    named = {name for node in ast.walk(ast.parse(source)) for name in _named(node, package)}
    return {name.removeprefix("mnemosyne").removeprefix(".") for name in named if f"{name}.".startswith("mnemosyne.")}


def _is_in(module: str, room: str) -> bool:
    return module == room or (room != "" and module.startswith(f"{room}."))


def _room(module: str) -> str:
    """The room that a module belongs to; a package that has rooms is none itself."""
    return max(
        (room for room in ALLOWED.keys() | LEAVES if _is_in(module, room)), key=len, default=f"no room: {module}"
    )


def _sources() -> dict[str, str]:
    return {_module(path): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}


def _package(module: str) -> str:
    at = f"mnemosyne.{module}" if module else "mnemosyne"
    return at if (SOURCES / at.replace(".", "/")).is_dir() else at.rpartition(".")[0]


def _reads_environment(source: str) -> bool:
    return any(
        (isinstance(node, ast.Attribute) and node.attr in ENVIRONMENT)
        or (isinstance(node, ast.ImportFrom) and any(alias.name in ENVIRONMENT for alias in node.names))
        or (isinstance(node, ast.Constant) and node.value in ENVIRONMENT)
        for node in ast.walk(ast.parse(source))
    )


def test_imports_run_downward_only() -> None:
    upward = {}
    for module, source in _sources().items():
        if source.count("\n") <= 1:  # a package's docstring
            continue
        room = _room(module)
        allowed = LEAVES if room in LEAVES else LEAVES | ALLOWED.get(room, set()) | {room}
        wrong = {name for name in _imports(source, _package(module)) if not any(_is_in(name, one) for one in allowed)}
        if wrong:
            upward[module] = sorted(wrong)
    assert upward == {}


def test_no_room_can_reach_itself() -> None:
    rooms = ALLOWED.keys()
    below = {
        room: {one for one in rooms for name in ALLOWED[room] if _is_in(one, name) or _is_in(name, one)}
        for room in rooms
    }
    assert set(TopologicalSorter(below).static_order()) == set(rooms)


def test_the_deployed_file_imports_entry_points_alone() -> None:
    assert _imports((SOURCES / "main.py").read_text()) == {"app.functions"}


def test_only_settings_reads_the_environment() -> None:
    """The command line passes its environment to the programs that it starts."""
    functions = {module: source for module, source in _sources().items() if not _is_in(module, "cli")}
    assert [module for module, source in functions.items() if _reads_environment(source)] == ["settings"]


def test_every_module_says_what_lives_there() -> None:
    assert [module for module, source in _sources().items() if not ast.get_docstring(ast.parse(source))] == []


def test_the_development_tools_reach_use_cases_and_adapters_not_edges() -> None:
    for path in (ROOT / "infra").rglob("*.py"):
        if "benchmarks" not in path.parts:
            assert not {name for name in _imports(path.read_text()) if _is_in(name, "http") or _is_in(name, "mcp")}, (
                path
            )


@pytest.mark.parametrize(
    "source",
    [
        "import mnemosyne.http.push",
        "import os, mnemosyne.http.push as pushes",
        "from mnemosyne.http import push",
        "from mnemosyne.http.push import build_app",
        "from mnemosyne.http.push import *",
        "from . import push",
        "from .push import build_app",
        "from ..http.push import build_app",
        "def late():\n    import mnemosyne.http.push",
        "if TYPE_CHECKING:\n    from mnemosyne.http.push import Handler",
        'import_module("mnemosyne.http.push")',
        '__import__("mnemosyne.http.push")',
        'patch("mnemosyne.http.push")',
    ],
)
def test_every_form_of_an_import_is_seen(source: str) -> None:
    assert _imports(source, "mnemosyne.http") == {"http.push"}


def test_the_package_of_a_name_that_is_made_while_it_runs_is_seen() -> None:
    assert _imports('import_module(f"mnemosyne.adapters.embedders.{name}")') == {"adapters.embedders"}


@pytest.mark.parametrize(
    "source", ["import mnemosyne_adk", "import mnemosynes.http", 'log("mnemosyne.events")', "import os"]
)
def test_other_packages_and_texts_are_no_imports(source: str) -> None:
    assert _imports(source) == set()


@pytest.mark.parametrize(
    "source",
    [
        'import os\nos.environ["HOME"]',
        'import os\nos.getenv("HOME")',
        "import os as system\nsystem.environ",
        'from os import environ\nenviron["HOME"]',
        'from os import getenv as read\nread("HOME")',
        'import os\nos.environb[b"HOME"]',
        'import os\ngetattr(os, "environ")',
        '__import__("os").putenv("A", "1")',
    ],
)
def test_every_way_to_read_the_environment_is_seen(source: str) -> None:
    assert _reads_environment(source)
