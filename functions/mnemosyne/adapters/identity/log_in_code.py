"""Log in by a code that only somebody at this machine's terminal can read."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# 32 letters and digits that nobody takes for one another: eight of them are 40 bits, for ten minutes and five attempts.
_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
LOCAL_PERSON: Mapping[str, Any] = {"sub": "local", "name": "you, at this machine"}


class LogInCode:
    """The LogIn that appends each code to a file, which `mnemosyne dev` prints."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def begin(self, secret: str, client_name: str) -> tuple[str, str]:
        """Return that our own page asks, and the code."""
        code = "".join(secrets.choice(_ALPHABET) for _ in range(8))
        with self._file.open("a") as file:
            file.write(f"{code[:4]}-{code[4:]} {client_name}\n")
        return "", code

    def finish(self, secret: str, shown: Mapping[str, str]) -> Mapping[str, Any]:
        """Return who is at this machine: the code was compared."""
        return LOCAL_PERSON
