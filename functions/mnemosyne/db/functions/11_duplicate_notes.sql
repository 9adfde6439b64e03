-- Notes for the outcomes of duplicates: requests whose content is stored already.

-- Return the names of the labels that have different values in a request and in the stored memory with the same
-- content. Labels are title, tags, metadata, timestamp and expires_at. p_labels maps the name of each label to its
-- value in the request.
--
-- `expires_at` differs only if the memory expires later than the request asks, or never. If the memory expires earlier,
-- `expires_at` does not count as different, because extend_expiry extends the expiry of the memory.
CREATE OR REPLACE FUNCTION differing_labels(p_namespace text, p_memory_id uuid, p_labels jsonb) RETURNS text[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    PERFORM require_session_namespace(p_namespace);
    RETURN ARRAY(
        SELECT label.key
        FROM memories m, jsonb_each(p_labels) AS label
        WHERE m.namespace = p_namespace AND m.id = p_memory_id AND CASE label.key
            WHEN 'title' THEN m.title <> label.value #>> '{}'
            WHEN 'tags' THEN to_jsonb(m.tags) <> label.value
            WHEN 'metadata' THEN m.metadata <> label.value
            WHEN 'timestamp' THEN m."timestamp" <> CAST(label.value #>> '{}' AS timestamptz)
            WHEN 'expires_at' THEN
                coalesce(m.given_expiry, m.expires_at, 'infinity') > CAST(label.value #>> '{}' AS timestamptz) END
        ORDER BY label.key
    );
END
$$;

-- Return the note for the outcome of a duplicate, or null if there is nothing to report.
--   p_superseded_by  the successor of the stored memory, or null
--   p_differing      the names of the labels whose values in the request differ from the memory and were not stored
CREATE OR REPLACE FUNCTION duplicate_note(p_superseded_by uuid, p_differing text[]) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN nullif(concat_ws('; ',
    'the memory is superseded by ' || p_superseded_by || ', so searches leave it out: update_memory with superseded_by '
        || '"none" brings it back',
    'the memory already exists, and these values of the request were not stored: ' || nullif(array_to_string(p_differing, ', '), '')
), '');

GRANT EXECUTE ON FUNCTION differing_labels(text, uuid, jsonb), duplicate_note(uuid, text[])
    TO mnemosyne_runtime, mnemosyne_ingest, mnemosyne_dead_letter;
