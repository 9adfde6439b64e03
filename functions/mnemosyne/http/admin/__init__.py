"""HTTP side of the `migrate` function: migrations, API keys, quotas, grants and blocked people."""
