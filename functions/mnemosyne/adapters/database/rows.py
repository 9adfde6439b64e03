"""Convert domain objects to SQL parameters, and rows to domain objects. Columns match dataclass fields by name."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final
from uuid import UUID

import orjson
from pydantic import TypeAdapter

from mnemosyne.adapters.database import metadata_filter
from mnemosyne.adapters.database.statements import Row
from mnemosyne.domain.candidates import Candidate, Candidates, RankedCandidate
from mnemosyne.domain.chronicle import tag_key
from mnemosyne.domain.console_queries import ListedMemory, ListedRequest
from mnemosyne.domain.labels import given_labels
from mnemosyne.domain.memory import (
    Deletion,
    ExportedMemory,
    ExternalId,
    FailedRequest,
    IngestRequest,
    IngestState,
    IngestStatus,
    Memory,
    MemorySummary,
)
from mnemosyne.domain.provenance import Provenance
from mnemosyne.domain.ranking import combined_lexical_score
from mnemosyne.domain.search import Filters, Hit, RelevanceParts, SearchQuery, TagMatch
from mnemosyne.domain.visible import one_line
from mnemosyne.ids import derived_id
from mnemosyne.ports.embedder import Vector

_MEMORY: Final = TypeAdapter(Memory)
_EXPORTED: Final = TypeAdapter(ExportedMemory)
_HIT: Final = TypeAdapter(Hit)
_STATUSES: Final = TypeAdapter(list[IngestStatus])


def filters_json(filters: Filters, excluded: Mapping[str, Collection[str]] | None = None) -> str:
    """Return the filters as JSON, in the form that the SQL function `parse_filters` reads."""
    values = {field.name: getattr(filters, field.name) for field in fields(filters)}
    tags, match = values.pop("tags"), values.pop("tag_match")
    if conditions := values.pop("metadata"):
        values |= {
            "metadata": metadata_filter.jsonpath(conditions),
            "metadata_terms": metadata_filter.terms(conditions),
        }
    keys = [tag_key(tag) for tag in tags] or None
    return json_text(values | {"all_tags" if match is TagMatch.ALL else "any_tags": keys} | dict(excluded or {}))


def json_text(value: object) -> str:
    """Return the value as JSON."""
    return orjson.dumps(value).decode()


def requests_json(requests: Sequence[IngestRequest], immutable_sources: Collection[str] = ()) -> str:
    """Return, as JSON, the fields of each request that the SQL function `claim_requests` needs."""
    return json_text(
        [
            {
                "request_id": request.request_id,
                "content_hash": request.content_hash,
                "provenance": provenance_fields(request.provenance),
                "expires_at": request.expires_at,
                "pinned": request.pinned,
                **(
                    version_values(request, request.external_id, immutable_sources)
                    if request.external_id
                    else {"labels": given_labels(request)}
                ),
            }
            for request in requests
        ]
    )


def version_values(
    request: IngestRequest, external_id: ExternalId, immutable_sources: Collection[str] = ()
) -> dict[str, object]:
    """Return the values of one version of a record. The keys are the names that the SQL functions use."""
    return {
        **key_values(external_id),
        "version_at": request.timestamp,
        "published": request.published,
        "immutable": external_id.source in immutable_sources,
        "labels": {
            "title": request.title,
            "tags": request.tags,
            "tag_keys": [tag_key(tag) for tag in request.tags],
            "metadata": request.metadata,
            "timestamp": request.timestamp,
        },
    }


def deletions_json(deletions: Sequence[Deletion], unfinished: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """Return deletions of records as JSON, in the form that the SQL function `delete_records` reads.

    If an earlier call of the SQL function has left deletions unfinished, its result has a field `unfinished`. Pass the
    value of this field as `unfinished`.
    """
    return json_text(
        [
            {
                "request_id": deletion.request_id,
                **key_values(deletion.external_id),
                "deleted_at": deletion.timestamp,
                "published": deletion.published,
                **(unfinished or {}).get(str(deletion.request_id), {}),
            }
            for deletion in deletions
        ]
    )


def unstored_json(requests: Sequence[FailedRequest], contents: Mapping[UUID, str] | None = None) -> str:
    """Return, as JSON, requests for which no memory was stored.

    `contents` has the known hashes of their contents, by request id.
    """
    hashes = contents or {}
    return json_text(
        [
            {
                "request_id": request.request_id,
                "error": request.error,
                "hash": hashes.get(request.request_id),
                "content_hash": request.content_hash,
                "provenance": provenance_fields(request.provenance, request.first_words),
                **external_id_values(request.external_id),
            }
            for request in requests
        ]
    )


def provenance_fields(provenance: Provenance | None, first_words: str | None = None) -> dict[str, object] | None:
    """Return the known fields about the publisher and the content of a request; None if no field is known."""
    fields_ = dict(provenance.fields) if provenance else {}
    return fields_ | ({"first_words": first_words} if first_words else {}) or None


def external_id_values(external_id: ExternalId | None) -> dict[str, str]:
    """Return the source and key of an external id as a dict by column name; empty without an external id."""
    return {"source": external_id.source, "key": external_id.key} if external_id else {}


def key_values(external_id: ExternalId) -> dict[str, object]:
    """Return the source and key of an external id, and the UUID that is derived from both, by column name."""
    return {**external_id_values(external_id), "key_id": derived_id(external_id.source, external_id.key)}


def vector_text(vector: Vector) -> str:
    """Return the vector in pgvector's text format."""
    return orjson.dumps(vector, option=orjson.OPT_SERIALIZE_NUMPY).decode()


def chunk_row(memory_id: UUID, index: int, vector: Vector) -> dict[str, object]:
    """Return the embedding of a chunk as a row, which the caller converts to JSON."""
    return {"memory_id": memory_id, "chunk_index": index, "embedding": vector_text(vector)}


def text_array(texts: Sequence[str]) -> str:
    """Return a text[] literal with every element in quotes. Without quotes, PostgreSQL would read the text `null` as
    NULL."""
    return "{" + ",".join('"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in texts) + "}"


def uuid_array(ids: Sequence[UUID | str]) -> str:
    """Return a uuid[] literal."""
    return "{" + ",".join(map(str, ids)) + "}"


LISTED_COLUMNS = ("created_at", "first_words", "dead_letter")


def read_listed_request(row: Row) -> ListedRequest:
    """Build an ingest request, as the console lists it, from a row."""
    columns = row.by_name
    provenance = Provenance(**{field.name: columns.pop(field.name) for field in fields(Provenance)})
    listing = {name: columns.pop(name) for name in LISTED_COLUMNS}
    return ListedRequest(**vars(_read_status(columns)), provenance=provenance, **listing)


def read_statuses(rows: Sequence[Row]) -> dict[UUID, IngestStatus]:
    """Build the statuses of requests from rows, and return them by request id."""
    return {row["request_id"]: _read_status(row.by_name) for row in rows}


def _read_status(columns: dict[str, Any]) -> IngestStatus:
    columns.pop("changed_in", None)
    source, key = columns.pop("source"), columns.pop("key")
    external_id = ExternalId(source, key) if source is not None else None
    return IngestStatus(**columns | {"state": IngestState(columns["state"])}, external_id=external_id)


def read_outcomes(records: Sequence[Mapping[str, Any]]) -> dict[UUID, IngestStatus]:
    """Build the statuses of requests from a JSON array, and return them by request id.

    The database returns the statuses as JSON, because reading the same rows with the driver takes ten times as long.
    """
    return {status.request_id: status for status in _STATUSES.validate_python(records)}


def read_memory(record: Mapping[str, Any]) -> Memory:
    """Build a memory from the JSON of the SQL function `memory_record`."""
    return _MEMORY.validate_python(_with_one_line_labels(record))


def read_exported(record: Mapping[str, Any], superseded_by_hash: str | None) -> ExportedMemory:
    """Build a memory for an export from a row's JSON. Title and tags stay as stored, even with line breaks."""
    return _EXPORTED.validate_python({**record, "superseded_by_hash": superseded_by_hash})


def read_candidates(answer: Mapping[str, Any]) -> Candidates:
    """Build the candidates of a search from the JSON of the SQL function `find_candidates`."""
    columns = answer["candidates"]["columns"]
    return Candidates(
        rows=list(map(Candidate._make, zip(*(column or () for column in columns), strict=True))),
        listed=answer["candidates"]["listed"],
        neighbours=list(zip(*(column or () for column in answer["candidates"]["neighbours"]), strict=True)),
        strategy=answer["strategy"],
        full=answer["full"],
    )


def read_hit(record: Mapping[str, Any], entry: RankedCandidate, query: SearchQuery) -> Hit:
    """Build a search result from its rank and from a record of the SQL function `read_hits`.

    The content in the record may be cut, and its metadata may be left out.
    """
    truncated = record["metadata"] is None or len(record["content"]) < record["length"]
    why = RelevanceParts(
        matched_words=tuple(record["matched_words"]),
        vector_score=entry.candidate.vector_score,
        lexical_score=None if entry.candidate.lexical_score is None else combined_lexical_score(entry.candidate),
        neighbours=entry.neighbours,
        time=entry.time,
        speaker=entry.speaker,
        redundancy=entry.redundancy,
    ) if query.explain else None  # fmt: skip
    return _HIT.validate_python({
        **_with_one_line_labels(record),
        "metadata": record["metadata"] or {},
        "truncated": truncated,
        "relevance": None if query.query is None else entry.relevance,
        "score": entry.score,
        "confidence": entry.confidence,
        "why": why,
        "near_duplicates": entry.folded,
    })  # fmt: skip


def read_summary(row: Row) -> MemorySummary:
    """Build the summary of a memory (without its content) from a row. The row may have further columns."""
    return MemorySummary(**_with_one_line_labels({field.name: row[field.name] for field in fields(MemorySummary)}))


def read_listed(row: Row) -> ListedMemory:
    """Build a memory, as `MemoryStore.list` returns it, from a row. The row may have further columns."""
    return ListedMemory(**_with_one_line_labels({field.name: row[field.name] for field in fields(ListedMemory)}))


def _with_one_line_labels(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a memory, with the title and each tag reduced to one line."""
    return {**record, "title": one_line(record["title"]), "tags": tuple(map(one_line, record["tags"]))}
