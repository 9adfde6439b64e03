"""Checks of this project's own, beside the linters': `python -m lint.sql_literals functions infra`."""
