"""Print the deployment's variables as a table: `python -m infra.deploy.variables > docs/variables.md`."""

import re
from pathlib import Path

TERRAFORM = Path(__file__).parents[2] / "terraform"
HEAD = """# Variables of the deployment

`make docs` writes this page from `terraform/variables*.tf`. Set the variables in `terraform/terraform.tfvars`, or in a
file for each environment (`terraform/environments/`). `make deploy` sets `project`. A plan refuses an invalid value,
and the error says what to do.

| variable | default | meaning |
|---|---|---|
"""


def table() -> str:
    """Return the page docs/variables.md. The variables are in alphabetical order."""
    rows = []
    text = "\n".join(file.read_text() for file in TERRAFORM.glob("variables*.tf"))
    for name, body in sorted(re.findall(r'(?ms)^variable "(\w+)" \{\n(.*?)^\}', text)):
        description = re.search(r'^  description = "(.*)"$', body, re.MULTILINE)
        default = re.search(r"(?ms)^  default\s+= (\{\n.*?^  \}|[^\n]+)", body)
        default_text = f"`{' '.join(default[1].split())}`" if default else "must be set"
        rows.append(f"| `{name}` | {default_text} | {description[1].replace(chr(92), '') if description else ''} |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    print(table(), end="")  # noqa: T201 - prints for the operator
