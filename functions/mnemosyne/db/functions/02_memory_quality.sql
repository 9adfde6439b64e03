-- Return the quality of a memory, from 0 to 1. Ratings from -1 to 1 are first scaled to the range from 0 to 1. The
-- quality is the mean of the scaled ratings and two additional ratings of 0.5 (additive smoothing,
-- https://en.wikipedia.org/wiki/Additive_smoothing).
--
-- The number of reads does not count. Otherwise a memory that is read often would rank higher in searches and would
-- therefore be read even more often.
CREATE OR REPLACE FUNCTION memory_quality(rating_count integer, rating_sum integer) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (1.0 + (rating_sum + rating_count) / 2.0) / (2.0 + rating_count);
GRANT EXECUTE ON FUNCTION memory_quality(integer, integer) TO mnemosyne_runtime, mnemosyne_mcp;
