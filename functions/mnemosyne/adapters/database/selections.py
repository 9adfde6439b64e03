"""Convert selections to JSON, and requests that SQL functions compare with a selection.

A selection chooses memories by ids or by filters. The file db/functions/04_selections.sql describes its JSON.
"""

from collections.abc import Sequence

import orjson

from mnemosyne.adapters.database.rows import filters_json, json_text
from mnemosyne.domain.chronicle import tag_key
from mnemosyne.domain.forgetting import Selection
from mnemosyne.domain.memory import IngestRequest


def selection_json(selection: Selection) -> str:
    """Return a selection as JSON, as the database stores it."""
    if selection.ids:
        return json_text({"ids": sorted({str(memory_id) for memory_id in selection.ids})})
    fields_ = orjson.loads(filters_json(selection.filters))
    filters = {
        name: value
        for name, value in fields_.items()
        if value is not None and name not in ("include_superseded", "metadata_terms")
    }
    return json_text({"filters": filters} if filters else {"all": True})


def forgettable_json(requests: Sequence[IngestRequest]) -> str:
    """Convert requests to JSON, with the fields that decide whether a forgetting applies to a request.

    A forgetting deletes the memories that a selection matches. It also applies to requests that match the selection and
    were published before the forgetting: these requests are not stored.
    """
    return json_text(
        [
            {
                "request_id": request.request_id,
                "published": request.published,
                "content_hash": request.content_hash,
                "timestamp": request.timestamp,
                "tag_keys": [tag_key(tag) for tag in request.tags],
                "metadata": request.metadata,
                "session": request.session,
            }
            for request in requests
        ]
    )
