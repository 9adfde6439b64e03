-- A whole table becomes memories by way of a bucket: each file that is written there is imported, and its report written
-- beside it. A time is formatted, for the export of a TIMESTAMP is no RFC 3339.
EXPORT DATA OPTIONS (
  uri = 'gs://acme-exports/memories/tickets-*.jsonl.gz',
  format = 'JSON',
  compression = 'GZIP',
  overwrite = true
) AS (
  SELECT
    text AS content,
    FORMAT_TIMESTAMP('%Y-%m-%dT%H:%M:%E6SZ', created_at, 'UTC') AS timestamp,
    ['ticket', status] AS tags,
    STRUCT(priority) AS metadata
  FROM `crm.tickets`
  WHERE text IS NOT NULL
);
