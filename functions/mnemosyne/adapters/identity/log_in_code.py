"""Log-in with a code that the local server prints in its terminal."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# 32 letters and digits, without I, O, 0 and 1, which look alike. A code of eight characters has 40 bits. It is valid
# for ten minutes and for five attempts.
_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
LOCAL_PERSON: Mapping[str, Any] = {"sub": "local", "name": "you, at this machine"}


class LogInCode:
    """A LogIn with codes. It appends each code to a file, from which `mnemosyne dev` prints the code."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def begin(self, secret: str, client_name: str) -> tuple[str, str]:
        """Return an empty URL and a new code. The URL is empty because the server's own page asks for the code."""
        code = "".join(secrets.choice(_ALPHABET) for _ in range(8))
        with self._file.open("a") as file:
            file.write(f"{code[:4]}-{code[4:]} {client_name}\n")
        return "", code

    def finish(self, secret: str, parameters: Mapping[str, str]) -> Mapping[str, Any]:
        """Return the claims of the only person, the user of this machine. The caller has already checked the code."""
        return LOCAL_PERSON
