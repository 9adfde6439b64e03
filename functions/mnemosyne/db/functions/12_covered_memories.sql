-- Return the memories that the deletion of a record must delete. Versions with the same content share one memory, even
-- if they are versions of different records. A memory is in the result if two conditions are true. First, the deletion
-- covers all versions of this record that are stored as this memory (see is_covered). Second, the memory is not the
-- current version of another record.
--
-- p_record is the record's row of source_keys. Its columns deleted_at and deleted_published must have the timestamp and
-- the time of publication of the deletion. The function does not read the current version in p_record, so it does not
-- matter whether the caller has already changed it.
CREATE OR REPLACE FUNCTION covered_memories(p_namespace text, p_source text, p_key text, p_record source_keys)
RETURNS TABLE (memory_id uuid)
LANGUAGE sql STABLE
AS $$
SELECT i.memory_id
FROM versions_of(p_namespace, p_source, p_key) i
WHERE NOT EXISTS (
    SELECT FROM source_keys k
    WHERE k.namespace = p_namespace AND k.memory_id = i.memory_id
        AND NOT (k.key_id = (p_record).key_id AND is_covered(p_record, k.version_at, k.version_published))
)
GROUP BY i.memory_id
HAVING bool_and(is_covered(p_record, i.version_at, i.version_published))
$$;
