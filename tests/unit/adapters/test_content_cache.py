"""Cache of stored contents: ten minutes, per namespace."""

from mnemosyne.adapters.database.content_cache import KNOWN_SECONDS, ContentCache
from tests.fakes import request


class _Timer:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_stored_content_is_cached_for_ten_minutes() -> None:
    timer = _Timer()
    known, seen, other = ContentCache(timer), request("seen"), request("other")
    known.add("ns", [seen.content_hash])
    timer.now = KNOWN_SECONDS - 1
    assert known.among("ns", [seen, other]) == [seen]
    timer.now = KNOWN_SECONDS + 1
    assert known.among("ns", [seen, other]) == []


def test_a_cached_content_is_visible_in_its_own_namespace_only() -> None:
    known, seen = ContentCache(), request("seen")
    known.add("ada", [seen.content_hash])
    assert known.among("bob", [seen]) == []
