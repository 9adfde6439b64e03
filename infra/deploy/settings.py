"""Print the functions' settings as a table: `python -m infra.deploy.settings > docs/settings.md`."""

from typing import get_args

from pydantic_core import PydanticUndefined

from mnemosyne.settings import Settings, variable

HEAD = """# Settings of the functions

The functions read these environment variables. `make docs` generates this page from `functions/mnemosyne/settings.py`.
In a deployment Terraform sets the variables, and on your machine `mnemosyne dev` sets them. When a function starts,
it checks all settings, and stops with one error that lists every problem. The variables of Google's libraries
(`GEMINI_API_KEY`, `PUBSUB_EMULATOR_HOST`) and of OpenTelemetry (`OTEL_…`) have their usual meaning.

| variable | default | description |
|---|---|---|
"""


def table() -> str:
    """Return the page docs/settings.md. The settings are in the order of their definition."""
    rows = []
    for name, field in Settings.model_fields.items():
        choices = " \\| ".join(f"`{choice}`" for choice in get_args(field.annotation) if isinstance(choice, str))
        is_needed = field.default is PydanticUndefined and "default: " not in (field.description or "")
        default = "must be set" if is_needed else None if field.default is PydanticUndefined else field.default
        default_text = ", ".join(default) if isinstance(default, tuple) else "" if default is None else str(default)
        default_cell = f"`{default_text}`" if default_text and default_text != "must be set" else default_text
        meaning = "; ".join(filter(None, [field.description, choices]))
        rows.append(f"| `{variable(name)}` | {default_cell} | {meaning} |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    print(table(), end="")  # noqa: T201 - prints for the operator
