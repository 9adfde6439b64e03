"""The memory that contains the identifier of a query comes first, among memories with similar identifiers."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain

import pytest

from infra.benchmarks.collection import Collection
from infra.benchmarks.stored import Stored, opened_store
from mnemosyne.domain.search import SearchMode

# Each entry has a text with a placeholder for an identifier, the identifier of the query, and similar identifiers.
IDENTIFIERS = [
    ("Commit {} fixed the retry of the billing job.", "9f76893b", "9f76893c", "5411bfbc"),
    ("The MD5 of the dump is {}.", "d41d8cd98f00b204e9800998ecf8427e", "900150983cd24fb0d6963f7d28e17f72"),
    ("Ticket {} is about the label printer.", "INC-4821", "INC-4822", "INC-4281"),
    ("{} asks for a dark theme.", "JIRA-1042", "JIRA-1024", "OPS-1042"),
    ("The locker of Ada has the number {}.", "7733", "7734", "7337"),
    ("The tenant of Contoso has the id {}.", "550e8400-e29b-41d4-a716-446655440000",
     "550e8400-e29b-41d4-a716-446655440001", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
    ("The print server has the address {}.", "10.24.3.17", "10.24.3.18", "10.42.3.17"),
    ("The gateway in Oslo listens on {}.", "2001:db8::8a2e:370:7334", "2001:db8::8a2e:370:7335", "fe80::1"),
    ("The budget is in {}.", "report_final_v2.xlsx", "report_final_v3.xlsx", "report_draft_v2.xlsx"),
    ("Timeouts are set in {}.", "config/settings.prod.yaml", "config/settings.dev.yaml"),
    ("The worker stops with {} when Redis restarts.", "econnrefused", "ECONNRESET", "ETIMEDOUT", "EADDRINUSE"),
    ("The export failed with {} on Sunday.", "ORA-01555", "ORA-01556", "ORA-00054"),
    ("Windows Update reports {} on the laptops.", "0x80070005", "0x80070006", "0x8007000E"),
    ("The build fails with {} after the rename.", "E0425", "E0424", "E0433"),
    ("The import got {} twice.", "SQLSTATE 40001", "SQLSTATE 40002", "SQLSTATE 23505"),
    ("Production runs version {} since Monday.", "v2.14.3", "v2.14.2", "v2.13.3"),
    ("The image contains Python {}.", "3.11.9", "3.11.8", "3.12.9"),
    ("Staging runs release {}.", "1.2.3-rc.4", "1.2.3-rc.5", "1.2.4-rc.4"),
    ("The test card is {}.", "4012888888881881", "4111111111111111", "4012888888881882"),
    ("The office in Berlin has the number {}.", "+49 30 901820", "+49 30 901821", "+49 89 901820"),
    ("We are out of {} until March.", "SKU-88A-1190", "SKU-88B-1190", "SKU-88A-1191"),
    ("Pod {} was killed for memory.", "app-7d9c6b5f4-x2k8p", "app-7d9c6b5f4-q7zzt"),
    ("Audit logs go to {}.", "arn:aws:s3:::acme-logs-eu", "arn:aws:s3:::acme-logs-us"),
    ("The refund went to {}.", "user_9931", "user_9932", "user_9913"),
    ("We patched {} on all hosts.", "CVE-2024-3094", "CVE-2024-3095", "CVE-2021-44228"),
]  # fmt: skip


@contextmanager
def _stored(embedder_name: str) -> Iterator[Stored]:
    """Store one text for each identifier. The times of the texts are an hour apart, and ten texts are one session."""
    texts = chain.from_iterable(
        (text.format(identifier) for identifier in identifiers) for text, *identifiers in IDENTIFIERS
    )
    documents: Mapping[str, dict[str, str]] = {
        text: {"id": text, "text": text, "timestamp": f"2026-05-{1 + place // 24:02}T{place % 24:02}:00:00Z",
               "session": f"s{place // 10}"}
        for place, text in enumerate(sorted(texts, key=lambda text: text[::-1]))
    }  # fmt: skip
    with opened_store(embedder_name) as (embedder, memories, _):
        yield Stored(Collection("identifiers", dict(documents), []), memories, embedder)


@pytest.mark.parametrize("embedder_name", ["offline", pytest.param("multilingual", marks=pytest.mark.nightly)])
def test_the_memory_with_the_identifier_of_a_query_comes_first(embedder_name: str) -> None:
    with _stored(embedder_name) as stored:
        search = stored.search(SearchMode.HYBRID)
        first = {identifier: search(identifier)[0] for _, identifier, *_ in IDENTIFIERS}
    assert first == {identifier: text.format(identifier) for text, identifier, *_ in IDENTIFIERS}
