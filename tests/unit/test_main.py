"""The file that Cloud Functions loads."""

import gc
import importlib
import sys

import pytest


def test_garbage_is_collected_after_the_import(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("main", "mnemosyne.app.functions"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    importlib.import_module("main")
    assert gc.isenabled()
