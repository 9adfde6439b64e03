"""Import modules of a package without running the imports in the package's `__init__`."""

import importlib.util
import sys
from threading import RLock
from types import ModuleType
from typing import Any

_RUNNING = RLock()


class _LazyPackage(ModuleType):
    """A package whose `__init__` has not run yet. `__init__` runs when a name that the package lacks is first read."""

    def __getattr__(self, name: str) -> Any:
        package: Any = self
        with _RUNNING:
            before, package.__class__ = package.__class__, ModuleType
            if before is _LazyPackage:
                package.__spec__.loader.exec_module(package)
        return getattr(package, name)


def defer(*packages: str) -> None:
    """Delay the `__init__` of each package until the package is used, because its imports slow down the start.

    The first read of a name that is not in the package runs the `__init__`. In `packages`, a parent must precede its
    subpackages. Packages that are already imported or not installed are skipped.
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
