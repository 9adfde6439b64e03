"""Tables of the errors of external services; docs/service-errors.md has the same tables."""

from pathlib import Path

import pytest
from google.auth.exceptions import RefreshError, TransportError

from mnemosyne.adapters import service_errors
from mnemosyne.adapters.embedding_error_table import EMBEDDING
from mnemosyne.adapters.service_error_tables import CONNECTOR, DATABASE, TABLES, TOPIC
from mnemosyne.adapters.service_errors import CREDENTIALS, UNREACHABLE, Kind, Rule
from mnemosyne.errors import ServiceError

PAGE = Path(__file__).parents[3] / "docs" / "service-errors.md"
ALL = [(service, rule) for service, table in TABLES.items() for rule in table]


def _row(rule: Rule) -> str:
    cells = [f"`{rule.codes}`" if rule.codes else "none", rule.message and f"`{rule.message}`", rule.kind.value]
    return " | ".join(cell.replace("|", "\\|") for cell in [*cells, rule.cause, rule.next_step]).join(("| ", " |"))


@pytest.mark.parametrize("service", TABLES)
def test_the_documentation_has_the_table_of_each_service(service: str) -> None:
    section = PAGE.read_text().partition(f"\n## {service}\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert rows == [_row(rule) for rule in TABLES[service]]


@pytest.mark.parametrize(("service", "rule"), ALL, ids=[f"{service} {rule.codes}" for service, rule in ALL])
def test_an_error_that_lasts_until_an_operator_acts_has_a_next_step(service: str, rule: Rule) -> None:
    lasts = rule.kind in (Kind.PERMANENT, Kind.MISCONFIGURED)
    error = rule.error("as answered", {})
    assert (isinstance(error, ServiceError) and error.needs_operator) == lasts
    assert rule.next_step or not lasts
    assert "as answered" in str(error)


@pytest.mark.parametrize("table", [CONNECTOR, TOPIC], ids=["Cloud SQL", "Pub/Sub"])
def test_the_error_of_a_machine_without_google_credentials_says_how_to_log_in(table: tuple[Rule, ...]) -> None:
    """Operators run commands with settings on their own machines.

    There, missing credentials do not mean that a function lacks a right.
    """
    error = str(service_errors.error(table, CREDENTIALS, "Your default credentials were not found."))
    assert error.startswith("there are no Google credentials for ")
    assert "run `gcloud auth application-default login`" in error


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("Compute Engine Metadata server unavailable. Last exception: Read timed out.", UNREACHABLE),
        ("Compute Engine Metadata server unavailable. Response status: 503", UNREACHABLE),
        ("Status: 404 Response:\nservice account not found", CREDENTIALS),
        ("Status: 403 Response:\nUnable to generate access token", CREDENTIALS),
    ],
)
def test_an_error_of_the_metadata_server_is_temporary_unless_it_refuses_the_token(answer: str, code: str) -> None:
    """In both cases, google-auth raises a RefreshError that is not marked as temporary."""
    failure = TransportError(f"Failed to retrieve http://metadata from the metadata service. {answer}")
    with pytest.raises(RefreshError) as raised:
        raise RefreshError(failure) from failure
    assert service_errors.google_code(raised.value)[0] == code


SQLSTATES = {
    "08006": Kind.TEMPORARY,  # connection_failure
    "57P01": Kind.TEMPORARY,  # admin_shutdown
    "57P03": Kind.TEMPORARY,  # cannot_connect_now
    "57014": Kind.TEMPORARY,  # query_canceled
    "53300": Kind.TEMPORARY,  # too_many_connections
    "53200": Kind.TEMPORARY,  # out_of_memory
    "40001": Kind.TEMPORARY,  # serialization_failure
    "40P01": Kind.TEMPORARY,  # deadlock_detected
    "55P03": Kind.TEMPORARY,  # lock_not_available
    "25P03": Kind.TEMPORARY,  # idle_in_transaction_session_timeout
    "XX000": Kind.TEMPORARY,  # internal_error
    "25006": Kind.PERMANENT,  # read_only_sql_transaction
    "42501": Kind.PERMANENT,  # insufficient_privilege
    "53100": Kind.PERMANENT,  # disk_full
    "57P04": Kind.PERMANENT,  # database_dropped
    "58030": Kind.PERMANENT,  # io_error
    "XX001": Kind.PERMANENT,  # data_corrupted
    "28P01": Kind.MISCONFIGURED,  # invalid_password
    "3D000": Kind.MISCONFIGURED,  # invalid_catalog_name
    "42P01": Kind.MISCONFIGURED,  # undefined_table
    "42883": Kind.MISCONFIGURED,  # undefined_function
    "22021": Kind.ITEM,  # character_not_in_repertoire
    "54000": Kind.ITEM,  # program_limit_exceeded
    "42601": None,  # syntax_error: a bug in Mnemosyne
    "23505": None,  # unique_violation: a bug in Mnemosyne
}


@pytest.mark.parametrize(("state", "kind"), SQLSTATES.items())
def test_an_sqlstate_is_classified_by_its_meaning_in_postgresql_s_manual(state: str, kind: Kind | None) -> None:
    rule = service_errors.find(DATABASE, state)
    assert (rule.kind if rule else None) == kind


@pytest.mark.parametrize(
    "message",
    [
        "Permission denied: Consumer 'api_key:AIzaSyD-0123456789abcdefghijklmnopqrs' has been suspended.",
        "API key AIzaSyD-0123456789abcdefghijklmnopqrs is expired",
        "API key AQ.Ab8RN6J0123456789abcdefghijklmnopqrs is expired",
        "consumer api_key:another-form.of_key is not allowed",
    ],
)
def test_no_error_message_contains_an_api_key(message: str) -> None:
    shortened = str(service_errors.error(EMBEDDING, 403, message))
    assert "0123456789" not in shortened
    assert "another-form" not in shortened
    assert "answered 403" in shortened


@pytest.mark.parametrize("message", ["in \x00 text", "in \ud83d text", "<html>" + 100_000 * "x"])
def test_each_message_of_a_service_can_be_stored(message: str) -> None:
    error = str(service_errors.error(EMBEDDING, 503, message))
    assert "\x00" not in error
    assert error.encode()
    assert len(error) < 2 * service_errors.MESSAGE_CHARACTERS
