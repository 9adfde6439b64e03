"""The cache of stored contents keeps an entry for ten minutes, and separates namespaces."""

from mnemosyne.adapters.database.content_cache import CACHE_SECONDS, ContentCache
from tests.fakes import request


class _Timer:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_stored_content_is_cached_for_ten_minutes() -> None:
    timer = _Timer()
    cache, seen_request, other = ContentCache(timer), request("seen"), request("other")
    cache.add("ns", [seen_request.content_hash])
    timer.now = CACHE_SECONDS - 1
    assert cache.cached_requests("ns", [seen_request, other]) == [seen_request]
    timer.now = CACHE_SECONDS + 1
    assert cache.cached_requests("ns", [seen_request, other]) == []


def test_a_cached_content_is_visible_in_its_own_namespace_only() -> None:
    cache, seen_request = ContentCache(), request("seen")
    cache.add("ada", [seen_request.content_hash])
    assert cache.cached_requests("bob", [seen_request]) == []
