"""Packages import each other only in the allowed directions, and only the settings read the environment.

The import of main does not turn off the collection of garbage.
"""

import ast
import gc
import importlib
import re
import sys
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "functions"
PACKAGE = SOURCES / "mnemosyne"

# A layer is a package or module. Its modules may import each other, the leaves, and the layers that are listed for it
# here. A module belongs to the layer with the longest name that is a prefix of the module's name.
LEAVES = {"errors", "observability", "ids", "once", ""}
PORTS = {"ports.candidates", "ports.embedder", "ports.queue", "ports.identity", "ports.services"}
STORES = {"adapters.cloud_storage", "adapters.database.memories", "adapters.database.object_imports"}
ALLOWED = {
    "domain": set(),
    "formats": {"domain"},
    "ports": {"domain"},
    "ports.services": STORES | {"ports.embedder", "ports.queue", "domain"},
    "oauth": {"ports.identity", "adapters.database.oauth", "domain"},
    "service": PORTS | STORES | {"formats", "domain"},
    "mcp": PORTS | {"adapters.database.memories", "service", "domain"},
    "http.common": {"domain"},
    "http.console": {"http.common", "mcp.app", "mcp.icon"},
    "http.mcp": {"http.common", "http.console", "mcp", "service", "ports.services", "domain"},
    "http.admin": {"http.common", "domain"},
    "http.auth": {"http.common", "oauth", "domain"},
    "http.push": {"http.common", "service", "ports.services", "domain"},
    "db": set(),
    "settings": {"domain"},
    "extras": set(),
    "adapters": {"db", "extras", "settings", "ports.embedder", "ports.identity", "domain"},
    "app.container": {"settings", "adapters", "ports", "domain"},
    "app.doctor": {"app.container", "settings", "adapters", "ports", "domain"},
    "app.deferred_packages": set(),
    "app.migrate": {"app.container", "settings", "adapters", "domain"},
    "app.signing": {"settings", "adapters", "ports"},
    "app.operator": {
        "app.container", "app.doctor", "app.migrate", "app.signing", "settings", "adapters", "ports", "domain",
    },
    "app.operations": {"app.operator", "service", "settings", "adapters", "formats", "ports", "domain"},
    "app.authorization": {"app.signing", "oauth", "ports.identity", "settings", "adapters"},
    "app.entry_points": {
        "app.authorization", "app.container", "app.deferred_packages", "app.doctor", "app.migrate", "app.operations",
        "app.operator", "settings", "http", "mcp", "adapters", "service", "ports", "domain",
    },
    "app.functions": {"app.entry_points", "http.common"},
    "cli": {"app", "adapters", "service", "formats", "settings", "extras", "ports", "domain"},
}  # fmt: skip
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}


def _module(path: Path) -> str:
    """Return the module name of a file below the package, for example `http.push`; "" for the package itself."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


def _exists(module: str) -> bool:
    at = SOURCES / module.replace(".", "/")
    return at.is_dir() or at.with_suffix(".py").is_file()  # fmt: skip


def _imported_modules(node: ast.AST, package: str) -> Iterator[str]:
    """Return the modules that a node imports, or names in a string for `import_module`."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            above = package.split(".")[: len(package.split(".")) - level + 1] if level else []
            base = ".".join([*above, *([module] if module else [])])
            yield from (imported if _exists(imported := f"{base}.{alias.name}") else base for alias in names)
        case ast.Constant(value=str(text)) if re.fullmatch(r"mnemosyne(\.\w+)+\.?", text) and _exists(text.rstrip(".")):
            yield text.rstrip(".")


def _imports(nodes: Iterable[ast.AST], package: str = "mnemosyne") -> set[str]:
    """Return the modules of this project that the nodes of a file's syntax tree import in any way.

    `package` is the source's package.
    """
    named = {name for node in nodes for name in _imported_modules(node, package)}
    return {name.removeprefix("mnemosyne").removeprefix(".") for name in named if f"{name}.".startswith("mnemosyne.")}


def _is_in(module: str, layer: str) -> bool:
    return module == layer or (layer != "" and module.startswith(f"{layer}."))


def _layer(module: str) -> str:
    """Return the layer to which a module belongs."""
    return max(
        (layer for layer in ALLOWED.keys() | LEAVES if _is_in(module, layer)), key=len, default=f"no layer: {module}"
    )


class Source(NamedTuple):
    """A module of the package, with its syntax tree and all nodes of the tree."""

    tree: ast.Module
    nodes: list[ast.AST]
    package: str
    """The package that relative imports refer to."""


def _parse(path: Path) -> Source:
    tree = ast.parse(path.read_text())
    return Source(tree, list(ast.walk(tree)), ".".join(path.parent.relative_to(SOURCES).parts))


@pytest.fixture(scope="module")
def sources() -> dict[str, Source]:
    """The modules of the package by their names."""
    return {_module(path): _parse(path) for path in sorted(PACKAGE.rglob("*.py"))}


def _reads_environment(nodes: list[ast.AST]) -> bool:
    return any(
        (isinstance(node, ast.Attribute) and node.attr in ENVIRONMENT)
        or (isinstance(node, ast.ImportFrom) and any(alias.name in ENVIRONMENT for alias in node.names))
        or (isinstance(node, ast.Constant) and node.value in ENVIRONMENT)
        for node in nodes
    )


def test_a_module_imports_only_the_layers_that_its_layer_may_import(sources: dict[str, Source]) -> None:
    upward = {}
    for module, source in sources.items():
        if all(isinstance(node, ast.Expr) for node in source.tree.body):  # a module with nothing but a docstring
            continue
        layer = _layer(module)
        allowed = LEAVES if layer in LEAVES else LEAVES | ALLOWED.get(layer, set()) | {layer}
        imported = _imports(source.nodes, source.package)
        upward[module] = {name for name in imported if not any(_is_in(name, permitted) for permitted in allowed)}
    assert {module: names for module, names in upward.items() if names} == {}


def test_adapters_build_clients_under_a_lock(sources: dict[str, Source]) -> None:
    """`functools.cached_property` has no lock since Python 3.12, so each thread would build another client."""
    without_lock = [
        module
        for module, source in sources.items()
        if module.startswith(("adapters.", "app.container"))
        and any(isinstance(node, ast.alias) and node.name.endswith("cached_property") for node in source.nodes)
    ]
    assert without_lock == []


def test_only_app_cli_and_adapters_import_adapters_at_run_time(sources: dict[str, Source]) -> None:
    """Other packages import stores only for type annotations.

    To load the database driver would make a cold start longer.
    """
    for module, source in sources.items():
        if not any(_is_in(module, layer) for layer in ("app", "cli", "adapters")):
            statements = [statement for statement in source.tree.body if not _is_for_types(statement)]
            run = [node for statement in statements for node in ast.walk(statement)]
            assert not [name for name in _imports(run, source.package) if _is_in(name, "adapters")], module


def _is_for_types(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"


def test_the_allowed_imports_between_layers_have_no_cycle() -> None:
    layers = ALLOWED.keys()
    below = {
        layer: {other for other in layers for name in ALLOWED[layer] if _is_in(other, name) or _is_in(name, other)}
        for layer in layers
    }
    assert set(TopologicalSorter(below).static_order()) == set(layers)


def test_only_settings_reads_the_environment(sources: dict[str, Source]) -> None:
    """The command line is an exception: it passes its environment to the programs that it starts."""
    reading = {module for module, source in sources.items() if _reads_environment(source.nodes)}
    assert {module for module in reading if not _is_in(module, "cli")} == {"settings"}


def test_main_py_imports_only_the_entry_points() -> None:
    assert _imports(_parse(SOURCES / "main.py").nodes) == {"app.functions"}


def test_the_development_tools_do_not_import_http_or_mcp() -> None:
    for path in (ROOT / "infra").rglob("*.py"):
        if "benchmarks" not in path.parts:
            imported = _imports(ast.walk(ast.parse(path.read_text())))
            assert not {name for name in imported if _is_in(name, "http") or _is_in(name, "mcp")}, path


def test_garbage_is_collected_after_the_import_of_main(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("main", "mnemosyne.app.functions"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.import_module("main")
    assert gc.isenabled()
