"""Choose the encoding of a response."""

import re
from functools import lru_cache

from starlette.datastructures import Headers

_CODING = re.compile(r"\s*(?P<name>[^\s;]+)\s*(?:;\s*q\s*=\s*(?P<weight>[0-9]+(?:\.[0-9]*)?)\s*)?")


def accepts_gzip(headers: Headers) -> bool:
    """Whether the client accepts gzip.

    A weight of zero (`gzip;q=0`) refuses an encoding. `*` means all encodings that the header does not name: RFC 9110,
    section 12.5.3.
    """
    return _weighs_gzip(", ".join(headers.getlist("accept-encoding")).lower())


@lru_cache(maxsize=64)
def _weighs_gzip(accept_encoding: str) -> bool:
    codings = filter(None, map(_CODING.fullmatch, accept_encoding.split(",")))
    weights = {coding["name"]: float(coding["weight"] or 1) for coding in codings}
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", 0))) > 0
