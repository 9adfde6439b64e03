-- Memories that a search has found, by relevances that another has given them, and quality; equal ones as they stand. As
-- JSON, like a search's; one that was deleted meanwhile is not among them.
CREATE OR REPLACE FUNCTION rerank_memories(
    p_namespace text, p_ids uuid[], p_relevances double precision[], p_query text, p_limit integer,
    p_quality_weight double precision, p_characters integer
) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
-- As in search_memories: everybody's rows are never walked through.
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    ids uuid[];
    places double precision[];
    relevances double precision[];
BEGIN
    PERFORM require_own(p_namespace);
    SELECT array_agg(g.id), array_agg(CAST(- g.place AS double precision)), array_agg(g.relevance)
    INTO ids, places, relevances
    FROM unnest(p_ids, p_relevances) WITH ORDINALITY AS g (id, relevance, place)
    JOIN memories m ON m.id = g.id AND m.namespace = p_namespace;
    RETURN rank_candidates(describe_candidates(ids, places, relevances), 'reranked', p_limit, p_quality_weight, p_characters,
        p_query, false);
END
$$;
REVOKE ALL ON FUNCTION rerank_memories FROM PUBLIC;
GRANT EXECUTE ON FUNCTION rerank_memories TO mnemosyne_runtime, mnemosyne_mcp;
