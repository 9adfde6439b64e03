"""Write the SBOM of what is deployed as CycloneDX JSON, with hashes and licences: `python -m supply_chain.sbom`.

Runs in .venv-supply-chain: cyclonedx-py makes it of the pins, and THIRD_PARTY_NOTICES.md tells the licences.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from supply_chain.notices import NOTICES, listed
from supply_chain.pins import DEPLOYED, ROOT

VERSION = "1.6"


def made() -> dict[str, Any]:
    """Return the SBOM, the same for the same pins."""
    options = ("--pyproject", str(ROOT / "pyproject.toml"), "--sv", VERSION, "--output-reproducible", "--no-validate")
    command = [sys.executable, "-m", "cyclonedx_py", "requirements", str(DEPLOYED), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"cyclonedx-py makes no SBOM of {DEPLOYED.name}: {done.stderr.strip()}")
    bom: dict[str, Any] = json.loads(done.stdout)
    notices = listed(NOTICES.read_text())
    for component in bom["components"]:
        component["licenses"] = [{"expression": notices[component["name"]].licence}]
        del component["description"]  # the entry once more, with each hash
    return bom


def main() -> None:
    """Write it to the file named once it is valid."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    text = json.dumps(made(), indent=2) + "\n"
    if wrong := JsonStrictValidator(SchemaVersion.from_version(VERSION)).validate_str(text):
        sys.exit(f"the SBOM is no valid CycloneDX {VERSION}: {wrong}")
    Path(sys.argv[1]).write_text(text)


if __name__ == "__main__":
    main()
