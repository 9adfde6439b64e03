-- Find the memories whose embeddings are nearest to the embedding of a query. These memories are candidates of a
-- search. 07_candidates.sql describes candidates and the planner settings of the functions.

-- Return the memories nearest to a vector, among the memories that match the filters, and the number of memories that
-- match (`matching`). The filters must contain `any_tags`: a matching memory has at least one of these tags.
--
-- If at most p_rows memories match, the vectors of all of them are compared, so the result is exact. Otherwise the
-- function stops after p_rows + 1 memories, and `matching` is p_rows + 1.
--
-- The plan is generic, because making a custom plan takes as long as comparing fifty vectors. For many memories,
-- knn_exact is faster.
CREATE OR REPLACE FUNCTION knn_few_tagged(
    p_namespace text, filters memory_filters, p_vector halfvec, p_limit integer, p_rows integer
) RETURNS TABLE (id uuid, vector_score double precision, matching bigint)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    chunked boolean := EXISTS (SELECT FROM memory_chunks c WHERE c.namespace = p_namespace);
BEGIN
    RETURN QUERY
    SELECT s.id, s.score, count(*) OVER () FROM (
        SELECT m.id, m."timestamp", CASE WHEN chunked
                THEN 1.0 - least(m.embedding <=> p_vector, (
                    SELECT min((c.embedding <=> p_vector) + 0) FROM memory_chunks c WHERE c.memory_id = m.id))
                ELSE 1.0 - ((m.embedding <=> p_vector) + 0) END AS score
        FROM memories m
        WHERE m.namespace || '' = p_namespace AND namespaced_tags(m.namespace, m.tag_keys) && filters.own_any
            AND matches_filters(m, filters)
        LIMIT p_rows + 1
    ) AS s
    ORDER BY s.score DESC, s."timestamp" DESC, s.id DESC
    LIMIT p_limit;
END
$$;

-- Return the memories nearest to a vector, among the memories that match the filters. The result is exact: the vectors
-- of all matching memories are compared.
CREATE OR REPLACE FUNCTION knn_exact(p_namespace text, filters memory_filters, p_vector halfvec, p_limit integer)
RETURNS TABLE (id uuid, vector_score double precision)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    chunked boolean := EXISTS (SELECT FROM memory_chunks c WHERE c.namespace = p_namespace);
    keyed boolean := narrows_by_keys(filters);
BEGIN
    RETURN QUERY
    SELECT s.id, s.score FROM (
        -- `+ 0` stops the planner from using the HNSW index, which is approximate.
        SELECT m.id, m."timestamp", CASE WHEN chunked
                THEN 1.0 - least(m.embedding <=> p_vector, (
                    SELECT min((c.embedding <=> p_vector) + 0) FROM memory_chunks c WHERE c.memory_id = m.id))
                ELSE 1.0 - ((m.embedding <=> p_vector) + 0) END AS score
        FROM memories m
        WHERE CASE WHEN keyed THEN m.namespace || '' ELSE m.namespace END = p_namespace AND matches_filters(m, filters)
    ) AS s
    ORDER BY s.score DESC, s."timestamp" DESC, s.id DESC
    LIMIT p_limit;
END
$$;

-- Return the name for an HNSW index of only this namespace's memories. Most namespaces do not have such an index.
CREATE OR REPLACE FUNCTION own_index_name(p_namespace text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN 'memories_embedding_' || md5(p_namespace);

-- Return the statement that creates an HNSW index of the namespace's own memories. The owner of the schema runs the
-- statement for a large namespace, see "A large namespace" in docs/operations.md. The function only returns the
-- statement, because CREATE INDEX CONCURRENTLY cannot run in a function.
CREATE OR REPLACE FUNCTION own_index_statement(p_namespace text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN format('CREATE INDEX CONCURRENTLY %I ON memories USING hnsw (embedding halfvec_cosine_ops) '
    'WITH (m = 16, ef_construction = 200) WHERE namespace = %L', own_index_name(p_namespace), p_namespace);

-- Whether the namespace has its own HNSW index. The result is false until the index is complete.
CREATE OR REPLACE FUNCTION has_own_index(p_namespace text) RETURNS boolean
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM pg_index i WHERE i.indexrelid = to_regclass(own_index_name(p_namespace)) AND i.indisvalid);
END
$$;

-- Return the memories nearest to a vector, among the memories that match the filters. The result is approximate: the
-- function reads an HNSW index until p_limit memories match the filters. The index is the namespace's own HNSW index,
-- if there is one, and otherwise the index that all namespaces share. Sorting is disabled, so that the planner uses the
-- index even if the planner's estimates are wrong. The plan is custom, because a generic plan cannot use the
-- namespace's own index.
CREATE OR REPLACE FUNCTION knn_hnsw(p_namespace text, filters memory_filters, p_vector halfvec, p_limit integer)
RETURNS TABLE (id uuid, vector_score double precision)
LANGUAGE plpgsql STABLE SET enable_sort = off SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT m.id, 1.0 - (m.embedding <=> p_vector) FROM memories m
    WHERE m.namespace = p_namespace AND matches_filters(m, filters)
    ORDER BY m.embedding <=> p_vector
    LIMIT p_limit;
END
$$;

-- Return the long memories whose chunks are nearest to a vector. A chunk is a part of a long memory that has its own
-- embedding. The result is exact: all chunks of the namespace are compared. `OFFSET 0` stops the planner from scanning
-- all memories before the chunks.
CREATE OR REPLACE FUNCTION knn_all_chunks(p_namespace text, filters memory_filters, p_vector halfvec, p_limit integer)
RETURNS TABLE (id uuid, vector_score double precision)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT n.memory_id, n.score FROM (
        -- `+ 0` stops the planner from using the HNSW index, which is approximate.
        SELECT c.memory_id, 1.0 - min((c.embedding <=> p_vector) + 0) AS score FROM memory_chunks c
        WHERE c.namespace = p_namespace
        GROUP BY c.memory_id
        ORDER BY 2 DESC, 1
    ) AS n
    CROSS JOIN LATERAL (SELECT FROM memories m WHERE m.id = n.memory_id AND matches_filters(m, filters) OFFSET 0) AS m
    LIMIT p_limit;
END
$$;

-- Return the long memories whose chunks are nearest to a vector. A chunk is a part of a long memory that has its own
-- embedding. The result is approximate, because the function reads the HNSW index of chunks.
--
-- First, the function reads the nearest p_limit chunks. Many of these chunks can belong to one memory. As long as the
-- chunks belong to fewer than p_memories memories, the function reads the index again for four times as many chunks,
-- until it reads 64 * p_limit chunks.
CREATE OR REPLACE FUNCTION knn_hnsw_chunks(
    p_namespace text, filters memory_filters, p_vector halfvec, p_limit integer, p_memories integer
) RETURNS TABLE (id uuid, vector_score double precision)
LANGUAGE plpgsql STABLE SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    ids uuid[];
    scores double precision[];
    memory_count integer;
    chunk_limit integer := p_limit;
BEGIN
    -- 1,000 is the highest ef_search that pgvector accepts. Among 16,000 long memories, the recall of the ten nearest
    -- was 0.990 with this value, and 0.989 with the value 800, at about the same cost.
    PERFORM set_config('hnsw.ef_search', '1000', true);
    LOOP
        SELECT array_agg(w.memory_id), array_agg(w.score), count(DISTINCT w.memory_id) INTO ids, scores, memory_count FROM (
            SELECT c.memory_id, 1.0 - (c.embedding <=> p_vector) AS score FROM memory_chunks c
            -- `OFFSET 0` makes the planner look up the memory of each chunk. Without it, the planner would scan all
            -- memories before the chunks, because it expects that only one memory matches the filters.
            CROSS JOIN LATERAL (SELECT FROM memories m WHERE m.id = c.memory_id AND matches_filters(m, filters) OFFSET 0) AS m
            WHERE c.namespace = p_namespace
            ORDER BY c.embedding <=> p_vector
            LIMIT chunk_limit
        ) AS w;
        EXIT WHEN memory_count >= p_memories OR coalesce(cardinality(ids), 0) < chunk_limit OR chunk_limit >= 64 * p_limit;
        chunk_limit := 4 * chunk_limit;
    END LOOP;
    RETURN QUERY SELECT u.id, max(u.score) FROM unnest(ids, scores) AS u (id, score) GROUP BY u.id;
END
$$;

-- Whether the namespace has so many chunks (parts of long memories) that a search in the HNSW index of chunks costs
-- less than a comparison of all chunks of the namespace. p_limit is the number of chunks to find.
--
-- All namespaces share the index, so the cost of a search in the index depends on the number of chunks of all
-- namespaces (`all_chunks`, as estimated by the last VACUUM or ANALYZE). If the namespace has at most `few_chunks`
-- chunks, comparing all chunks of the namespace costs less than the search. The formula for `few_chunks` is explained
-- in 09_find_candidates.sql, in the comment on `exact_up_to`.
CREATE OR REPLACE FUNCTION has_many_chunks(p_namespace text, p_vector halfvec, p_limit integer) RETURNS boolean
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    long_vectors boolean := vector_dims(p_vector) > 1000;
    all_chunks double precision := (
        SELECT greatest(0, c.reltuples) FROM pg_class c WHERE c.oid = CAST('memory_chunks' AS regclass));
    few_chunks integer := greatest(4000, least(CASE WHEN long_vectors THEN 10000 ELSE 40000 END,
        sqrt(p_limit * all_chunks * CASE WHEN long_vectors THEN 8.0 ELSE 36.0 END)));
BEGIN
    RETURN (SELECT count(*) FROM (
        SELECT FROM memory_chunks c WHERE c.namespace = p_namespace LIMIT few_chunks + 1) AS some_) > few_chunks;
END
$$;

-- Return the long memories whose chunks are nearest to a vector. A chunk is a part of a long memory that has its own
-- embedding. If the namespace has many chunks, the function reads the HNSW index of chunks. Otherwise it compares all
-- chunks of the namespace.
CREATE OR REPLACE FUNCTION knn_chunks(
    p_namespace text, filters memory_filters, p_vector halfvec, p_limit integer, p_memories integer
) RETURNS TABLE (id uuid, vector_score double precision)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    IF has_many_chunks(p_namespace, p_vector, p_limit) THEN
        RETURN QUERY SELECT * FROM knn_hnsw_chunks(p_namespace, filters, p_vector, p_limit, p_memories);
    ELSE
        RETURN QUERY SELECT * FROM knn_all_chunks(p_namespace, filters, p_vector, p_limit);
    END IF;
END
$$;

-- Return the memories nearest to a vector, in a namespace with many chunks. A chunk is a part of a long memory that has
-- its own embedding. The function compares the vector with the embeddings of all memories that match the filters, but
-- not with all chunks: it finds the nearest chunks in the HNSW index of chunks. The function knn_exact would compare
-- all chunks, too, which costs several times as much.
CREATE OR REPLACE FUNCTION knn_exact_and_chunk_index(
    p_namespace text, filters memory_filters, p_vector halfvec, p_limit integer, p_memories integer
) RETURNS TABLE (id uuid, vector_score double precision)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan
AS $$
BEGIN
    RETURN QUERY
    SELECT u.id, max(u.score) FROM (
        (SELECT m.id, 1.0 - ((m.embedding <=> p_vector) + 0) AS score FROM memories m
        WHERE m.namespace = p_namespace AND matches_filters(m, filters)
        ORDER BY 2 DESC
        LIMIT p_limit)
        UNION ALL SELECT * FROM knn_hnsw_chunks(p_namespace, filters, p_vector, p_limit, p_memories)
    ) AS u GROUP BY u.id ORDER BY 2 DESC, 1 LIMIT p_limit;
END
$$;
