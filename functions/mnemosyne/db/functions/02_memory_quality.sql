-- The quality of a memory, from 0 to 1. Quality is the mean of the ratings, scaled to [0, 1], and two neutral votes of
-- 0.5 (additive smoothing, https://en.wikipedia.org/wiki/Additive_smoothing). The number of reads does not count. If
-- reads counted, a memory that is read often would rank higher and be read even more often.
CREATE OR REPLACE FUNCTION memory_quality(rating_count integer, rating_sum integer) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (1.0 + (rating_sum + rating_count) / 2.0) / (2.0 + rating_count);
REVOKE ALL ON FUNCTION memory_quality FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory_quality TO mnemosyne_runtime, mnemosyne_mcp;
