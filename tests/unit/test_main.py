"""The file that Cloud Functions loads."""

import subprocess
import sys
from pathlib import Path

import mnemosyne


def test_garbage_is_collected_after_the_import() -> None:
    code = "import gc, main; print(gc.isenabled())"
    source = Path(mnemosyne.__file__).parents[1]
    loaded = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "True"
