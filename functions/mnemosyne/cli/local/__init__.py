"""The embedded stack: PostgreSQL, the durable delivery, and the function processes."""
