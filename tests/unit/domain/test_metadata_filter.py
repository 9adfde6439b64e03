"""Conditions on metadata: accepted values, and their form for the database."""

import pytest

from mnemosyne.adapters.database import metadata_filter as database
from mnemosyne.domain.metadata_filter import MetadataCondition, Operator, condition

EQUAL = Operator.EQUAL


@pytest.mark.parametrize(
    ("condition", "echoed"),
    [
        (condition("project.name", EQUAL, ["apollo", "gemini"]), "project.name = apollo, gemini"),
        (condition("$.project.name", EQUAL, ["apollo"]), "project.name = apollo"),
        (condition("size", Operator.AT_LEAST, ["3.0"]), "size >= 3.0"),
        (condition("due", Operator.EXISTS, []), "due exists"),
    ],
    ids=str,
)
def test_a_parsed_condition_is_returned_in_normal_form(condition: MetadataCondition, echoed: str) -> None:
    assert str(condition) == echoed


@pytest.mark.parametrize(
    ("path", "operator", "values", "message"),
    [
        ("a", EQUAL, [], "values is required with op ="),
        ("a", Operator.EXISTS, ["x"], "values must be left out with op exists, got 1"),
        ("a", Operator.LESS, ["soon"], "values must be one number or ISO 8601 date with op <, got 'soon'"),
        (
            "a",
            Operator.LESS,
            ["1e-9999999999999999999"],
            "values must be one number or ISO 8601 date with op <, got '1e-9999999999999999999'",
        ),
        ("a", Operator.LESS, ["1", "2"], "values must be one number or ISO 8601 date with op <, got '1, 2'"),
        ("a..b", EQUAL, ["x"], "path must be names with dots between them, such as project.name, got 'a..b'"),
        ("", EQUAL, ["x"], "path must be names with dots between them, such as project.name, got ''"),
        ("a" * 201, EQUAL, ["x"], "path must have at most 200 characters, got 201"),
    ],
)
def test_an_invalid_condition_is_refused_with_the_rule(
    path: str, operator: Operator, values: list[str], message: str
) -> None:
    with pytest.raises(ValueError) as refused:
        condition(path, operator, values)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("conditions", "path", "terms"),
    [
        (
            [condition("a.b", EQUAL, ["x", "3"])],
            '$ ? (exists(@."a"."b"[*] ? (@ == "x" || @ == "3" || @ == 3)))',
            [".a.b=x", ".a.b=3"],
        ),
        ([condition("a", Operator.LESS, ["3.0"])], '$ ? (exists(@."a"[*] ? (@ < 3)))', [".a"]),
        (
            [condition("a", Operator.LESS, ["2026-05-20"])],
            '$ ? (exists(@."a"[*] ? (@ like_regex "^[0-9]{4}-[0-9]{2}-[0-9]{2}" && @ < "2026-05-20")))',
            [".a"],
        ),
        (
            [condition("a", EQUAL, ["1e99999999999999999999"])],
            '$ ? (exists(@."a"[*] ? (@ == "1e99999999999999999999")))',
            [".a=1e99999999999999999999"],
        ),
        ([condition("a", Operator.MISSING, [])], '$ ? (!exists(@."a"))', None),
        (
            [condition("a", Operator.EXISTS, []), condition(r"b\.c", EQUAL, ["true"])],
            '$ ? (exists(@."a") && exists(@."b.c"[*] ? (@ == "true" || @ == true)))',
            [r".b\.c=true"],
        ),
        ([condition('q"\\\\', EQUAL, ['"'])], '$ ? (exists(@."q\\"\\\\"[*] ? (@ == "\\"")))', ['.q"\\="']),
    ],
)
def test_conditions_become_one_jsonpath_and_the_most_selective_index_terms(
    conditions: list[MetadataCondition], path: str, terms: list[str] | None
) -> None:
    assert database.jsonpath(conditions) == path
    assert database.terms(conditions) == terms
