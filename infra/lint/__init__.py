"""Checks that no linter has: `python -m infra.lint.sql_literals functions infra`."""
