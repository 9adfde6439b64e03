-- Store each new row of a table as a memory. Run this as a continuous query: `bq query` with --continuous=true and a
-- service account that may publish to the publisher's topic. IFNULL is necessary, because a tag must not be null.
EXPORT DATA OPTIONS (
  format = 'CLOUD_PUBSUB',
  uri = 'https://pubsub.googleapis.com/projects/MY-PROJECT/topics/mnemosyne-publisher-crm'
) AS (
  SELECT
    TO_JSON_STRING(STRUCT(
      'https://crm.example.com/tickets' AS source,
      CAST(id AS STRING) AS key,
      text AS content,
      created_at AS timestamp,
      ['ticket', IFNULL(status, 'no status')] AS tags,
      STRUCT(priority) AS metadata
    )) AS message
  FROM APPENDS(TABLE `crm.tickets`, CURRENT_TIMESTAMP() - INTERVAL 10 MINUTE)
  WHERE text IS NOT NULL AND created_at IS NOT NULL
);
