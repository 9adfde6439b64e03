-- Each embedding space has a provider beside its model. And the functions go that the version before 0.1.0 called.

ALTER TABLE embedding_space
    ADD COLUMN provider text,
    ADD COLUMN previous_provider text,
    ADD COLUMN next_provider text;

-- Until now a model's name said whose it was.
UPDATE embedding_space SET
    provider = CASE WHEN model LIKE 'gemini-%' THEN 'gemini' ELSE 'offline' END,
    previous_provider = CASE WHEN previous_model LIKE 'gemini-%' THEN 'gemini'
        WHEN previous_model IS NOT NULL THEN 'offline' END,
    next_provider = CASE WHEN next_model LIKE 'gemini-%' THEN 'gemini' WHEN next_model IS NOT NULL THEN 'offline' END;
UPDATE embedding_space SET provider = coalesce(nullif(current_setting('mnemosyne.embedding_provider', true), ''), provider)
    WHERE model = current_setting('mnemosyne.embedding_model', true);

ALTER TABLE embedding_space ALTER COLUMN provider SET NOT NULL;

DROP FUNCTION list_memories(
    text, timestamptz, timestamptz, text[], text[], boolean, timestamptz, uuid, integer);
DROP FUNCTION search_memories(
    text, text, text, text, text, timestamptz, timestamptz, text[], text[], boolean, integer, double precision,
    double precision);
DROP FUNCTION search_terms(text);

GRANT SELECT ON schema_repeatables
    TO mnemosyne_runtime, mnemosyne_mcp, mnemosyne_ingest, mnemosyne_dead_letter, mnemosyne_import_object;
