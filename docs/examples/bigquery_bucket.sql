-- Import a whole table through a bucket: Mnemosyne imports each file that appears in the bucket, and writes a report
-- next to it. The source and the key together identify the record of a row. So when you export the table again, a
-- changed row becomes a new version of the same record. IFNULL is necessary, because BigQuery cannot export an array that contains a null.
-- TO_JSON_STRING keeps the numbers in the metadata: without it, BigQuery would export an INT64 as text.
EXPORT DATA OPTIONS (
  uri = 'gs://acme-exports/memories/tickets-*.jsonl.gz',
  format = 'JSON',
  compression = 'GZIP',
  overwrite = true
) AS (
  SELECT
    'https://crm.example.com/tickets' AS source,
    CAST(id AS STRING) AS key,
    text AS content,
    created_at AS timestamp,
    ['ticket', IFNULL(status, 'no status')] AS tags,
    TO_JSON_STRING(STRUCT(priority)) AS metadata
  FROM `crm.tickets`
  WHERE text IS NOT NULL AND created_at IS NOT NULL
);
