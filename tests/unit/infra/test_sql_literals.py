"""The checker refuses statements that are not whole constants, and rows read by position."""

from pathlib import Path

import pytest

from infra.lint.sql_literals import problems

IMPORTS = "from typing import Final\nfrom mnemosyne.adapters.database.connections import Connection\n"


def _problems(directory: Path, body: str) -> list[str]:
    module = directory / "module.py"
    module.write_text(f"{IMPORTS}{body}\n")
    return list(problems(module, [directory]))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('connection.run(f"SELECT {x}")', "run takes a constant statement"),
        ("connection.script(text)", "script takes a constant statement"),
        ('connection.one("SELECT %s" % x)', "one takes a constant statement"),
        ('self._connection.copy("COPY {}".format(x), data)', "copy takes a constant statement"),
        ('NOT_FINAL = "SELECT 1"\nconnection.run(NOT_FINAL)', "run takes a constant statement"),
        ('BUILT: Final = f"SELECT {x}"\nconnection.run(BUILT)', "run takes a constant statement"),
        ('connection.run("SELECT 1" if x else text)', "run takes a constant statement"),
        ("self._call_one(text)", "_call_one takes a constant statement"),
        ("def _run(self, text): connection.run(text)", "run takes a constant statement"),
        ("connection.run_file(text)", "run_file is for the schema's files alone"),
        ("memory_id = row[0]", "read row[0] by the column's name"),
    ],
)
def test_a_built_statement_or_a_row_read_by_position_is_refused(tmp_path: Path, body: str, message: str) -> None:
    (problem,) = _problems(tmp_path, body)
    assert message in problem


@pytest.mark.parametrize(
    "body",
    [
        'connection.run("SELECT 1")',
        'STATEMENT: Final = "SELECT 1"\nconnection.run(STATEMENT, x=1)',
        'A: Final = "SELECT 1"\nB: Final = "SELECT 2"\nconnection.one(A if x else B)',
        "import anyio\nanyio.run(main)",
        'memory_id = row["id"]',
        'STATEMENT: Final = "SELECT 1"\nself._one(STATEMENT, x=1)',
        "def _run(self, sql): return connection.run(sql)",
    ],
)
def test_a_constant_sql_statement_and_a_row_read_by_name_are_accepted(tmp_path: Path, body: str) -> None:
    assert _problems(tmp_path, body) == []


def test_an_imported_sql_statement_must_be_a_constant_of_its_module(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "statements.py").write_text('GOOD: Final = "SELECT 1"\nBAD = "SELECT 2"\n')
    code = "connection.run(statements.GOOD)\nconnection.run(statements.BAD)"
    (problem,) = _problems(tmp_path, f"from package import statements\n{code}")
    assert "statements.BAD" in problem
