"""PostgreSQL with pgvector: connections, migrations and stores."""
