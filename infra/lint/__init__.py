"""Checks that other linters do not have: `python -m infra.lint.sql_literals functions infra`."""
