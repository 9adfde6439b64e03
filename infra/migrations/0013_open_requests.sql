-- What memory_stats counts: those that wait and those that were given up, among all that were ever asked.
CREATE INDEX ingest_requests_open ON ingest_requests (namespace, state) WHERE state IN ('queued', 'dead_lettered');
