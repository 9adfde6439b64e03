-- Memories know which conversation or document they are a part of, and find their neighbours in it.
ALTER TABLE memories ADD COLUMN session text;
CREATE INDEX memories_session ON memories (namespace, session, "timestamp", id) WHERE session IS NOT NULL;
ALTER TYPE memory_filters ADD ATTRIBUTE session text;

-- What a search by meaning and words asks for: the vector, the terms by weight, how long a memory is on average, how much
-- words count, the words as they are written, and the times that the question names.
CREATE TYPE question AS (
    vector halfvec, terms sparsevec, mean_length double precision, lexical_weight double precision, words text[],
    preferred tstzmultirange
);

-- What is known of a memory that may be an answer; what its time, its speaker and its neighbours in the session are worth,
-- and how near it is to a better one.
CREATE TYPE candidate AS (
    id uuid, "timestamp" timestamptz, session text, quality double precision, vector_score double precision,
    lexical_score double precision, timely double precision, said double precision, neighbours double precision,
    redundancy double precision, relevance double precision
);

-- As it was between two releases.
DROP FUNCTION IF EXISTS rank_candidates(
    uuid[], double precision[], double precision[], halfvec, sparsevec, double precision, text, integer, double precision,
    double precision, integer);
