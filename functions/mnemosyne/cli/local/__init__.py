"""Run a whole system on one machine: PostgreSQL, the delivery of queued messages, and the function processes."""
