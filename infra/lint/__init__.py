"""Checks of this project's own, beside the linters': `python -m infra.lint.sql_literals functions infra`."""
