"""Check that every SQL statement is a constant and every row is read by column name.

mypy does not check `LiteralString`, and thus accepts `connection.run(f"… {name}")`
(https://github.com/python/mypy/issues/12554). This program therefore checks every call of the methods `run`, `one`,
`script` and `copy` of a Connection: the first argument, the SQL statement, must be a string literal or the name of a
`Final` constant. The same rule applies to calls of those methods of a store that pass a statement on to a Connection.
"""

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

CALLS = ("run", "one", "script", "copy")
STORE_CALLS = ("_run", "_one", "_call", "_call_one")
"""Methods of a store (OwnerStore, NamespaceStore) that pass their parameter `sql` on to a Connection."""
CONNECTIONS = "mnemosyne.adapters.database"
SCHEMA_FILES = ("connections.py", "migrations.py")
"""The modules that may call `run_file`, which runs a file instead of a constant. They define `run_file` or apply the
schema."""


@dataclass
class Module:
    """Names in a module: its constants with SQL statements, and the modules that it imports."""

    constants: set[str] = field(default_factory=set)
    modules: dict[str, Path] = field(default_factory=dict)
    imported: set[str] = field(default_factory=set)
    uses_connections: bool = False


def problems(path: Path, roots: Sequence[Path]) -> Iterator[str]:
    """Yield the errors in one file, as `path:line: fix`. Imported modules are searched in the directories `roots`."""
    tree = ast.parse(path.read_text())
    module = _module(path, tuple(roots))
    if not module.uses_connections:
        return
    passed_on = set(_statements_passed_on(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and _is_row(node.value) and _is_number(node.slice):
            yield f"{path}:{node.lineno}: read {ast.unparse(node)} by the column's name"
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        receiver, method = node.func.value, node.func.attr
        if method == "run_file" and path.name not in SCHEMA_FILES:
            yield f"{path}:{node.lineno}: run_file is for the schema's files alone: use script with a constant"
        if not node.args or node.args[0] in passed_on or not _is_checked(receiver, method, module):
            continue
        if not _is_constant(node.args[0], module, tuple(roots)):
            code = ast.unparse(node.args[0])[:60]
            yield f"{path}:{node.lineno}: {method} takes a constant statement, got {code}: name it as a Final literal"


def _statements_passed_on(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield each argument `sql` that one of the methods in STORE_CALLS passes on to another call.

    Such an argument need not be a constant, because the calls of these methods are checked instead.
    """
    for method in ast.walk(tree):
        if isinstance(method, ast.FunctionDef) and method.name in STORE_CALLS:
            calls = (node for node in ast.walk(method) if isinstance(node, ast.Call) and node.args)
            yield from (call.args[0] for call in calls if ast.unparse(call.args[0]) == "sql")


def _is_checked(receiver: ast.expr, method: str, module: Module) -> bool:
    """Whether the first argument of a method's call must be a constant statement."""
    if isinstance(receiver, ast.Name) and receiver.id in module.imported:
        return False
    on_connection = method in CALLS and "connection" in ast.unparse(receiver)
    return on_connection or (method in STORE_CALLS and ast.unparse(receiver) == "self")


def _is_row(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "row"


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _is_constant(node: ast.expr, module: Module, roots: tuple[Path, ...]) -> bool:
    match node:
        case ast.Constant(value=str()):
            return True
        case ast.Name(id=name):
            return name in module.constants
        case ast.IfExp(body=body, orelse=orelse):
            return _is_constant(body, module, roots) and _is_constant(orelse, module, roots)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in module.modules:
            return attribute in _module(module.modules[name], roots).constants
        case _:
            return False


@cache
def _module(path: Path, roots: tuple[Path, ...]) -> Module:
    module = Module()
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.Constant(value=str())):
                if ast.unparse(annotation) == "Final":
                    module.constants.add(name)
            case ast.Import(names=names):
                module.imported |= {(imported.asname or imported.name).partition(".")[0] for imported in names}
            case ast.ImportFrom(module=str() as package, names=names):
                module.uses_connections |= package.startswith(CONNECTIONS)
                for imported in names:
                    files = (root / package.replace(".", "/") / f"{imported.name}.py" for root in roots)
                    if (file := next((file for file in files if file.is_file()), None)) is not None:
                        module.modules[imported.asname or imported.name] = file
    return module


def main() -> None:
    """Check every file below the given directories. Exit with 1 if there are errors."""
    roots = [Path(argument) for argument in sys.argv[1:]]
    all_problems = [
        problem for root in roots for path in sorted(root.rglob("*.py")) for problem in problems(path, roots)
    ]
    sys.stdout.write("".join(f"{problem}\n" for problem in all_problems))
    sys.exit(bool(all_problems))


if __name__ == "__main__":
    main()
