"""Import modules of a package without running the imports in the package's `__init__`."""

import importlib.util
import sys
from threading import RLock
from types import ModuleType
from typing import Any

_RUNNING = RLock()


class _LazyPackage(ModuleType):
    """A package whose `__init__` has not run yet.

    The first read of a name that the package does not define yet runs `__init__`.
    """

    def __getattr__(self, name: str) -> Any:
        package: Any = self
        with _RUNNING:
            before, package.__class__ = package.__class__, ModuleType
            if before is _LazyPackage:
                package.__spec__.loader.exec_module(package)
        return getattr(package, name)


def defer(*packages: str) -> None:
    """Delay the `__init__` of each package until it is needed, because the imports in `__init__` slow down the start.

    The first read of a name that the package does not define yet runs its `__init__`. In `packages`, a parent must
    precede its subpackages. Packages that are already imported or not installed are skipped.
    """
    for name in packages:
        if name in sys.modules or not (spec := importlib.util.find_spec(name)):
            continue
        package = importlib.util.module_from_spec(spec)
        package.__class__ = _LazyPackage
        sys.modules[name] = package
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, package)
