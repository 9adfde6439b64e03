"""PostgreSQL with pgvector: connections, migrations, and the ports that store data in it."""
