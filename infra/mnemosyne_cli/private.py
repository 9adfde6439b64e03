"""Files for their owner's eyes."""

import os
from pathlib import Path
from typing import TextIO


def private(path: Path) -> TextIO:
    """Return the file, emptied, for text to be written to as it is; nobody else may read it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    if path.is_file():
        os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "w", encoding="utf-8", newline="")
