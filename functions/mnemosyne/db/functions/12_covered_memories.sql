-- Return the memories that the deletion of a record must delete. Several versions, also of different records, have the
-- same memory if they have the same content. A memory is in the result if the deletion covers all of the record's
-- versions with this memory (see is_covered), and if the memory is not the current version of another record.
--
-- p_record is the row of source_keys for the record, with the times of the deletion. The deletion changes the record's
-- current version in this row, but the result does not depend on the current version.
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
