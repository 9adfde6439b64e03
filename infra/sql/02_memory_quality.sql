-- Quality in [0, 1]: the mean rating, from 0 to 1, with two neutral votes of a half before it (additive smoothing,
-- https://en.wikipedia.org/wiki/Additive_smoothing), and up to 0.2 for being read, all of it at a hundred reads.
-- `tests/oracle.py` has the same in Python, and a test holds both to each other.
CREATE OR REPLACE FUNCTION memory_quality(rating_count integer, rating_sum integer, fetches bigint) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(1.0,
    (1.0 + (rating_sum + rating_count) / 2.0) / (2.0 + rating_count)
    + 0.2 * least(1.0, ln(1.0 + fetches) / ln(101.0)));
REVOKE ALL ON FUNCTION memory_quality FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory_quality TO mnemosyne_runtime, mnemosyne_mcp;
