"""The number of examples of properties that are checked on ten thousand examples every night."""

from hypothesis import settings

IS_NIGHT = settings.get_current_profile_name() == "nightly"
many_at_night = settings(max_examples=10_000 if IS_NIGHT else settings().max_examples)
