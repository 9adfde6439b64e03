"""The number of random examples for the property tests. Every night, these tests use ten thousand examples."""

from hypothesis import settings

IS_NIGHT = settings.get_current_profile_name() == "nightly"
many_at_night = settings(max_examples=10_000 if IS_NIGHT else settings().max_examples)
