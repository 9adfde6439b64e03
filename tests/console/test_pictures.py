"""`infra.console_pictures` makes pictures of the design and the console side by side."""

import struct
from pathlib import Path

import pytest

from infra import console_pictures

ROW = """<div class="row"><span class="fit"><b>Printer</b> The printer needs <code>203</code> dpi.</span>
<a class="tag">office</a><time title="Friday 27 November 2026, 14:02">14:02</time></div>"""


@pytest.mark.nightly
def test_each_page_has_one_picture_with_design_and_console_at_both_widths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console_pictures, "PAGES", {"home": "/", "memory": "/memories/ID"})
    for name in ("empty", "home", "memory", "login"):
        (tmp_path / f"{name}.html").write_text(f"<!doctype html><h1>{name}</h1>{ROW if name == 'home' else ''}")
    out = tmp_path / "pictures"
    monkeypatch.setattr("sys.argv", ["console_pictures", str(tmp_path), str(out)])
    assert console_pictures.main() == 0
    assert sorted(file.name for file in out.iterdir()) == ["empty.png", "home.png", "login.png", "memory.png"]
    width, _ = struct.unpack(">II", (out / "home.png").read_bytes()[16:24])
    assert width >= 2 * (1280 + 375)


def test_a_directory_without_a_design_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["console_pictures", str(tmp_path)])
    with pytest.raises(SystemExit):
        console_pictures.main()
    assert "has no home.html" in capsys.readouterr().err
