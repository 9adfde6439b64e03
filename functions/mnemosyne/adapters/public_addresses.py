"""Check whether an address belongs to the public Internet."""

import ipaddress

# Networks that `is_global` accepts but that are not public, or that translate to IPv4 addresses:
# https://www.iana.org/assignments/iana-ipv6-special-registry and iana-ipv4-special-registry.
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",  # IETF protocol assignments, with the dummy address 192.0.0.8
            "192.88.99.0/24",  # relays of 6to4, deprecated by RFC 7526
            "::/96",  # IPv4-compatible addresses, deprecated by RFC 4291
            "::ffff:0:0:0/96",  # translation by SIIT, RFC 2765
            "64:ff9b::/96",  # NAT64, RFC 6052
            "64:ff9b:1::/48",  # NAT64 within a network, RFC 8215
            "100::/64",  # discard, RFC 6666
            "2001::/23",  # IETF protocol assignments, with Teredo (RFC 4380), benchmarks and ORCHID
            "2002::/16",  # 6to4, RFC 3056
            "3fff::/20",  # documentation, RFC 9637
            "5f00::/16",  # segment routing, RFC 9602
            "fec0::/10",  # site-local, RFC 3879
        ),
    )
)


def is_public(address: str) -> bool:
    """Return whether an address is global unicast, and is not translated to another address, as in NAT64 and 6to4."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        return is_public(str(ip.ipv4_mapped))
    if any(ip in network for network in _NOT_PUBLIC):
        return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved
