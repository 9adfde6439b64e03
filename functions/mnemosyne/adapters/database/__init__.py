"""PostgreSQL with pgvector: connections, migrations, and the adapters of the ports that store data."""
