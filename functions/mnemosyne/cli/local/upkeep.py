"""Tasks that `mnemosyne dev` repeats while it runs."""

from collections.abc import Callable
from pathlib import Path


def print_codes(codes: Path, printed: int, say: Callable[[str], None]) -> int:
    """Print the log-in codes that follow the first `printed` bytes of the file `codes`.

    Returns the number of bytes, from the beginning of the file, whose codes are printed by now.
    """
    if not codes.exists():
        return printed
    with codes.open("rb") as file:
        file.seek(printed)
        new = file.read()
    complete_lines = new[: new.rfind(b"\n") + 1]
    for line in complete_lines.decode(errors="replace").splitlines():
        code, _, client = line.partition(" ")
        say(f"Log-in code for {client}: {code}")
    return printed + len(complete_lines)
