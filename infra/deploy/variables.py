"""Print the deployment's variables as a table: `python -m deploy.variables > docs/variables.md`."""

import re
from pathlib import Path

VARIABLES = Path(__file__).parents[2] / "terraform" / "variables.tf"
HEAD = """# Variables of the deployment

Made from `terraform/variables.tf` by `make docs`. Set them in `terraform/terraform.tfvars`; `make deploy` sets
`project`. What a variable must be is checked while planning, and said with what to do.

| variable | default | what |
|---|---|---|
"""


def table() -> str:
    """Return the page, from the root's variables in their order."""
    rows = []
    for name, body in re.findall(r'(?ms)^variable "(\w+)" \{\n(.*?)^\}', VARIABLES.read_text()):
        description = re.search(r'^  description = "(.*)"$', body, re.MULTILINE)
        default = re.search(r"(?ms)^  default\s+= (\{.*?^  \}|[^\n]+)", body)
        shown = f"`{' '.join(default[1].split())}`" if default else "must be set"
        rows.append(f"| `{name}` | {shown} | {description[1] if description else ''} |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    print(table(), end="")  # noqa: T201 - what it is for
