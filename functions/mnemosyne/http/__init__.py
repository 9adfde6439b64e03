"""The HTTP edge: routing, limits and the push envelope. Parses, calls, maps errors to statuses."""
