"""PostgreSQL with pgvector: connections, the schema, and each port that is kept in it."""
