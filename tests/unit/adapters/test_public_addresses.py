"""Network addresses from which the server may fetch the metadata document of an OAuth client."""

import pytest

from mnemosyne.adapters.client_documents import is_public


@pytest.mark.parametrize(
    "address",
    ["93.184.215.14", "8.8.8.8", "1.1.1.1", "100.63.255.255", "172.32.0.1", "192.0.1.1", "198.20.0.1",
     "223.255.255.254", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "2001:4860:4860::8888", "2a00:1450:4001:81b::200e",
     "2400:cb00::1", "2001:200::1", "2c0f:f248::1", "::ffff:93.184.215.14"],
)  # fmt: skip
def test_an_address_on_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        # https://www.iana.org/assignments/iana-ipv4-special-registry
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
        "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.8", "192.0.0.170", "192.0.2.1",
        "192.88.99.1", "192.88.99.255", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
        "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        # https://www.iana.org/assignments/iana-ipv6-special-registry
        "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:192.0.0.8",
        "::ffff:0:127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b::808:808", "64:ff9b:1::1", "100::1", "2001::1",
        "2001:0:7f00:1::", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::",
        "3fff::1", "3fff:fff:ffff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "febf::1",
        "fec0::1", "feff::1", "ff02::1", "ff0e::1",
    ],
)  # fmt: skip
def test_an_address_in_a_reserved_range_is_not_public(address: str) -> None:
    assert not is_public(address)
