-- Quality in [0, 1]: the mean rating, from 0 to 1, with two neutral votes of a half before it (additive smoothing,
-- https://en.wikipedia.org/wiki/Additive_smoothing). Reading a memory changes nothing: one that is looked at often is not
-- better for it, and would be found, and looked at, more often still. A test
-- holds it to the same formula in Python.
CREATE OR REPLACE FUNCTION memory_quality(rating_count integer, rating_sum integer) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (1.0 + (rating_sum + rating_count) / 2.0) / (2.0 + rating_count);
REVOKE ALL ON FUNCTION memory_quality FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory_quality TO mnemosyne_runtime, mnemosyne_mcp;
