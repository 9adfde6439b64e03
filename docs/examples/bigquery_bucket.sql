-- Import a whole table through a bucket: Mnemosyne imports each file that appears in the bucket, and writes a report next
-- to it. FORMAT_TIMESTAMP is necessary, because BigQuery does not export a TIMESTAMP as RFC 3339, and IFNULL, because it
-- exports no array with a null.
EXPORT DATA OPTIONS (
  uri = 'gs://acme-exports/memories/tickets-*.jsonl.gz',
  format = 'JSON',
  compression = 'GZIP',
  overwrite = true
) AS (
  SELECT
    text AS content,
    FORMAT_TIMESTAMP('%Y-%m-%dT%H:%M:%E6SZ', created_at, 'UTC') AS timestamp,
    ['ticket', IFNULL(status, 'no status')] AS tags,
    STRUCT(priority) AS metadata
  FROM `crm.tickets`
  WHERE text IS NOT NULL
);
