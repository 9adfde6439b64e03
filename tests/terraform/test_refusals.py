"""Variables that cannot work are refused while planning, with a sentence that says what to do."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terraform.workspace import Workspace, without_gcloud, workspace

DOMAIN = {"domain": "memory.example.com", "domain_only": True}
ASKED = "https://dns.google/resolve?type=A&name=memory.example.com"


@pytest.fixture(scope="module")
def empty() -> Iterator[Workspace]:
    """Nothing is there yet."""
    with workspace() as made:
        yield made


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"region": "europe-west7"}, "europe-west7 is none that is known here"),
        ({"sql_tier": "db-f1-micro"}, "A db-f1-micro bears about 38 connections"),
        ({"max_connections": 400}, "A db-g1-small bears about 108 connections"),
        ({"max_connections": 60}, "would hold 73 connections, and the database takes 60"),
        ({"domain": "https://memory.example.com/mcp"}, "no scheme, no path, no port"),
        ({"domain": "memory"}, "a domain name that public DNS can have"),
        (DOMAIN, "has no address yet"),
        ({"domain_only": True}, "domain_only needs a domain"),
        ({"subnetwork_cidr": "10.0.0.0/28"}, "a range of /26 or wider"),
        (
            {"subnetwork_cidr": "10.0.0.0/26", "max_instances": {"mcp": 40, "ingest": 5, "dead_letter": 1}},
            "need 100 addresses, two each and in blocks of sixteen",
        ),
        ({"kms_key": "projects/p/locations/us-east1/keyRings/r/cryptoKeys/k"}, "a key in europe-west1"),
        ({"iap": True}, "iap needs a domain"),
        ({"sql_edition": "ENTERPRISE_PLUS"}, "sql_edition ENTERPRISE_PLUS does not have a db-g1-small"),
        ({"labels": {"Team": "x"}}, "lower-case letters"),
    ],
    ids=lambda given: ",".join(given) if isinstance(given, dict) else "",
)
def test_a_bad_variable_is_refused_with_what_to_do(empty: Workspace, given: dict[str, object], sentence: str) -> None:
    planned = empty.plan(**given)
    assert planned.status == 1
    assert sentence in " ".join(planned.printed.split())


def test_the_domain_alone_is_refused_until_it_leads_to_the_load_balancer(tmp_path: Path) -> None:
    dns = tmp_path / "dns.json"
    dns.write_text(json.dumps({ASKED: json.dumps({"Status": 0, "Answer": [{"data": "192.0.2.1"}]})}))
    with workspace(environment=without_gcloud(tmp_path) | {"TFCHECK_HTTP": str(dns)}) as own:
        own.apply(domain="memory.example.com")
        planned = own.plan(**DOMAIN)
        assert planned.status == 1
        assert "leads to 192.0.2.1, not to the load balancer" in " ".join(planned.printed.split())
        address = own.run("output", "-raw", "domain_address").printed
        dns.write_text(json.dumps({ASKED: json.dumps({"Status": 0, "Answer": [{"data": address}]})}))
        assert own.plan(**DOMAIN).status == 2
        assert own.changes() == {"module.mnemosyne.google_cloudfunctions2_function.mcp": ["update"]}
