"""Labels that a publisher chose for a request: title, tags, metadata, timestamp and expiry. Pure."""

from datetime import timedelta
from typing import Any

from mnemosyne.domain.chronicle import tags_of, title_of, unite_tags
from mnemosyne.domain.memory import IngestRequest

NOW_TOLERANCE = timedelta(minutes=1)
"""A timestamp that differs from the time of publishing by at most this duration counts as the default timestamp. Any
other timestamp counts as chosen by the publisher."""


def given_labels(request: IngestRequest) -> dict[str, Any]:
    """Return the labels that the publisher chose, as a dict with the names of the labels as keys.

    The labels of a memory are its title, tags, metadata, timestamp and expiry. Mnemosyne derives defaults of the first
    four from the content and from the time of publishing. A label that equals its default is left out.
    """
    is_given = {
        "title": request.title != title_of(request.content),
        "tags": request.tags != unite_tags(tags_of(request.content)),
        "metadata": bool(request.metadata),
        "timestamp": not request.published or abs(request.timestamp - request.published) > NOW_TOLERANCE,
        "expires_at": request.expires_at is not None,
    }
    return {name: getattr(request, name) for name, given in is_given.items() if given}


def differing_labels(request: IngestRequest, stored_request: IngestRequest) -> list[str]:
    """Return the names of the labels in which a duplicate differs from the memory that is already stored.

    `request` is the duplicate request, and `stored_request` is the request of the stored memory.
    """
    labels = given_labels(request)
    expiry = labels.pop("expires_at", None)
    names = [name for name, value in labels.items() if value != getattr(stored_request, name)]
    # The stored memory gets the later expiry of the two requests. So the duplicate's expiry is lost only if it is the
    # earlier one. If `stored_request` has no expiry, no difference is reported, because the memory can have an expiry
    # from the namespace's default lifetime, which this function does not know.
    is_earlier = expiry is not None and stored_request.expires_at is not None and stored_request.expires_at > expiry
    return sorted([*names, *(["expires_at"] if is_earlier else [])])
