"""Parse time expressions in English into time spans. Pure."""
