-- Maximal marginal relevance (Carbonell, Goldstein 1998, https://doi.org/10.1145/290941.291025) with λ = .9: the ten best are
-- chosen one by one among twenty, each for its relevance less a ninth of how near it is, by cosine, to the nearest chosen.
-- What is left is as near as it then is; what was not among the twenty is taken to be no less. A memory without a session
-- loses nothing: of abstracts that have none, those near to each other are wanted. Measured: docs/decisions/0016.
CREATE OR REPLACE FUNCTION diversify(candidates candidate[]) RETURNS candidate[]
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    ids uuid[];
    relevances double precision[];
    nearness double precision[];
    nearest double precision[];
    alone boolean[];
    chosen boolean[];
    n integer;
    best integer;
BEGIN
    SELECT array_agg(b.id), array_agg(b.relevance), array_agg(b.session IS NULL), count(*) INTO ids, relevances, alone, n
    FROM (
        SELECT u.id, u.relevance, u.session FROM unnest(candidates) AS u ORDER BY u.relevance DESC, u.id DESC LIMIT 20
    ) AS b;
    IF n < 2 THEN
        RETURN candidates;
    END IF;
    WITH vectors AS MATERIALIZED (
        SELECT p.place, l2_normalize(m.embedding) AS vector
        FROM unnest(ids) WITH ORDINALITY AS p (id, place) JOIN memories m ON m.id = p.id
    )
    SELECT array_agg(greatest(0.0, - (a.vector <#> b.vector)) ORDER BY a.place, b.place) INTO nearness
    FROM vectors a CROSS JOIN vectors b;
    nearest := array_fill(CAST(0 AS double precision), ARRAY[n]);
    chosen := array_fill(false, ARRAY[n]);
    FOR place IN 1..least(10, n) LOOP
        best := NULL;
        FOR one IN 1..n LOOP
            IF NOT chosen[one] AND (best IS NULL
                OR relevances[one] - nearest[one] / 9 > relevances[best] - nearest[best] / 9) THEN
                best := one;
            END IF;
        END LOOP;
        chosen[best] := true;
        FOR one IN 1..n LOOP
            IF NOT chosen[one] AND NOT alone[one] THEN
                nearest[one] := greatest(nearest[one], nearness[(best - 1) * n + one]);
            END IF;
        END LOOP;
    END LOOP;
    RETURN ARRAY(
        SELECT CAST(ROW (u.id, u.timestamp, u.session, u.quality, u.vector_score, u.lexical_score, u.timely, u.said,
            u.neighbours, u.near, greatest(0.0, u.relevance - u.near / 9)) AS candidate)
        FROM (
            SELECT c.*, CASE WHEN c.session IS NULL THEN 0.0 ELSE coalesce(r.near, 1.0) END AS near
            FROM unnest(candidates) AS c LEFT JOIN unnest(ids, nearest) AS r (id, near) ON r.id = c.id
        ) AS u);
END
$$;
REVOKE ALL ON FUNCTION diversify FROM PUBLIC;
