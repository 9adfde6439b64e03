"""The addresses that `mnemosyne dev` prints can be opened."""

import ipaddress
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from mnemosyne.cli.local.functions import other_urls, url
from mnemosyne.cli.main import cli
from mnemosyne.errors import Misconfigured


@pytest.mark.parametrize(
    ("host", "printed"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("localhost", "http://localhost:80"),
        ("::1", "http://[::1]:80"),
        ("nas.local", "http://nas.local:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
    ],
)
def test_the_address_of_a_server_can_be_opened(host: str, printed: str) -> None:
    assert url(host, 80) == printed


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_addresses_for_other_machines_are_neither_loopback_nor_unspecified(host: str) -> None:
    for other in other_urls(host, 80):
        address = ipaddress.ip_address(urlsplit(other).hostname or "")
        assert not (address.is_loopback or address.is_unspecified)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "nas.local"])
def test_a_server_on_one_address_has_no_others(host: str) -> None:
    assert other_urls(host, 80) == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "0:0:0:0:0:0:0:0"])
def test_log_in_is_refused_on_a_host_that_no_client_can_connect_to(host: str) -> None:
    ended = CliRunner().invoke(cli, ["dev", "--host", host, "--auth-mode", "oauth"])
    assert isinstance(ended.exception, Misconfigured)
    assert f"got {host}" in str(ended.exception)
