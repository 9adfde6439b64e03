"""Files that an import reads, and the errors that name the other files and the fix."""

import gzip
import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mnemosyne.cli import import_
from mnemosyne.cli.formats import read, read_files
from mnemosyne.cli.import_source import Source
from mnemosyne.cli.listing import check_notes, list_files
from mnemosyne.cli.private import FailuresFile
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats.chronicle import END, START
from mnemosyne.formats.item import Item
from tests.unit.cli.conftest import invoke

CHATGPT = [{"title": "T", "create_time": 1.0, "mapping": {"a": {"message": None}}}]
JOPLIN, JOPLIN_ID = "an item of Joplin's RAW format", "0123456789abcdef0123456789abcdef"
KINDLE = "Tee (Okakura)\r\n- Ihre Markierung auf Seite 5 | am Mittwoch\r\n\r\nTeaism is a cult.\r\n==========\r\n"
GRAPH = b'{"type":"entity","name":"Ada","observations":["likes tea"]}\n{"type":"relation","from":"Ada","to":"Bob"}'
TRANSCRIPT = b'{"type":"summary","summary":"Tea"}\n{"parentUuid":null,"type":"user","message":{"content":"hi"}}\n'
CHRONICLE = f"{START}\nTS: 2026-05-20\n{END}".encode()
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600
CLAUDE = [{"uuid": "x", "name": "T", "chat_messages": [{"text": "hi"}]}]


def _read(path: Path, format_: str | None = None) -> list[Item]:
    return list(read(path, format_))


@pytest.mark.parametrize(
    ("name", "data", "description"),
    [
        ("conversations.json", json.dumps(CHATGPT).encode(), "a ChatGPT export"),
        ("conversations.json", json.dumps(CLAUDE, indent=1).encode(), "a Claude export"),
        ("conversations-000.json", json.dumps([{"title": None, **CHATGPT[0]}]).encode(), "a ChatGPT export"),
        ("conversations.json", json.dumps([{"summary": "x" * 9_000, **CLAUDE[0]}]).encode(), "a Claude export"),
        ("conversations.json", json.dumps(CLAUDE).encode("utf-16-le"), "a Claude export"),
        ("memories.json", b'[{"conversations_memory": "Likes tea.", "account_uuid": "x"}]', "the memory of Claude"),
        ("memory.jsonl", GRAPH, "the knowledge graph of an MCP memory server"),
        ("0123.jsonl", TRANSCRIPT, "a transcript of Claude Code"),
        ("mem0.json", b'{"results": [{"id": "a", "memory": "Likes tea", "hash": "b"}]}', "an export of mem0"),
        ("mem0.json", b'[{"id": "a", "memory": "Likes tea", "user_id": "ada"}]', "an export of mem0"),
        ("Tea.json", b'{"textContent": "Steep", "userEditedTimestampUsec": 1779287400000000}', "a note of Google Keep"),
        ("graph.json", b'[{"title": "Tea", "children": [{"string": "x", "create-time": 1}]}]', "a Roam export"),
        ("result.json", b'{"messages": [{"date_unixtime": "1", "from": "Ada", "text": "x"}]}', "a Telegram export"),
        ("chat.json", b'{"guild": {"id": "0"}, "messages": [{"content": "hi"}]}', "a Discord export"),
        ("2026-05-20.json", b'[{"user": "U1", "text": "x", "ts": "1779287400.000100"}]', "a Slack export"),
        ("message_1.json", b'{"messages": [{"sender_name": "Ada"}]}', "an Instagram or Facebook export"),
        ("service.json", b'{"limits": {"memory": "512Mi", "cpu": "1"}}', "JSON without memories"),
        ("result.json", json.dumps({"messages": [{"content": "hi"}]}).encode("utf-16"), "JSON without memories"),
        ("numbers.json.gz", gzip.compress(b"[1, 2]", mtime=0), "JSON without memories"),
        ("tsconfig.json", b"{ // comment", "JSON without memories"),
        ("empty.json", b"", "JSON without memories"),
        ("Backup.txt", b'{\n  "version": "004",\n  "items": []\n}\n', "a JSON object"),
        ("deck.txt", b"#separator:tab\n#html:true\nWhat is tea?\tA drink.\n", "an Anki export"),
        ("My Clippings.txt", KINDLE.encode("utf-8-sig"), "clippings of a Kindle"),
        ("chat.txt", b"20/05/2026, 10:01 - Ada: hi\n20/05/2026, 10:02 - Bob: hello\n", "a WhatsApp export"),
        ("chat.txt", b"2026-05-20 14:29 - Krypterat.\n" + b"2026-05-20 14:30 - Ada: Hej\n" * 2, "a WhatsApp export"),
        ("Plan.excalidraw.md", b"# Excalidraw Data\n", "a drawing"),
        ("PLAN.EXCALIDRAW.MD", b"x", "a drawing"),
        ("Plan.md", b"---\ntags: [a]\nexcalidraw-plugin: parsed\n---\n# Excalidraw Data\n", "a drawing"),
        ("Plan.md", "\ufeff---\r\nexcalidraw-plugin: raw\r\n---\r\n".encode(), "a drawing"),
        ("a.csv", b"content,timestamp\nx,2026-05-20\n", "a table"),
        ("A.HTML", b"<p>x", "a web page"),
        ("page", b"<!DOCTYPE html><p>x", "a web page"),
        ("scan.bin", b"%PDF-1.7", "a PDF"),
        ("a.xml", b"<?xml version='1.0'?><en-export>", "an Evernote export"),
        ("photo.md", b"\xff\xd8\xff\xe0", "an image"),
        ("song.txt", b"ID3\x03\x00\x00\x00\x00\x0fvTT2", "a recording"),
        ("sound.md", b"RIFF\x24\x08\x00\x00WAVEfmt ", "a recording"),
        ("paper.txt", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "a PDF"),
        ("letter.md", b"{\\rtf1\\ansi Dear Ada}", "a document of a word processor"),
        ("notes.txt", b"\xef\xbb\xbf<?xml version='1.0'?>\r\n<en-export>", "an Evernote export"),
        ("a.webp", b"RIFF\x24\x00\x00\x00WEBPVP8 ", "an image"),
        ("a.md", OLE, "a document of a word processor"),
        ("a.xls", OLE, "a table"),
        ("a.ppt", OLE, "a presentation"),
        ("a.msg", OLE, "an e-mail or a mailbox"),
        ("a.eml", b"From: ada@example.com\n\nx", "an e-mail or a mailbox"),
        ("a.org", b"* x", "text in another markup"),
        ("a.db", b"x", "a database"),
        ("a.bin", b"SQLite format 3\x00", "a database"),
        ("a.txt", b'{"content": "x", "timestamp": "2026-05-20"}\n', "JSON lines"),
        ("a.jsonl", b'[\n  {"content": "x"}, {"content": "y"}\n]\n', "a JSON array"),
        ("a.jsonl.gz", gzip.compress(b'[{"content": "x"}]', mtime=0), "a JSON array"),
        ("a.jsonl", b'{\r\n  "content": "x"\r\n}\r\n{\r\n  "content": "y"\r\n}\r\n', "JSON of several lines"),
        ("a.ndjson", b'\xef\xbb\xbf[{"content": "x"}]', "a JSON array"),
        ("a.txt", b'[\r\n\t{\r\n\t\t"content": "x"}]', "a JSON array"),
        ("memories", b'[{"content": "x"}]', "a JSON array"),
        ("a.tar", b"\x00" * 257 + b"ustar", "an archive"),
        ("a.jsonl", gzip.compress(b"{}", mtime=0), "a gzip file without the extension .gz"),
        ("a.md", gzip.compress(b"note", mtime=0), "a gzip file without the extension .gz"),
        ("a.tgz", gzip.compress(b"x", mtime=0), "an archive"),
        ("a.tar.gz", gzip.compress(b"\x00" * 257 + b"ustar", mtime=0), "an archive"),
        ("a.tar.gz", gzip.compress(b"\x00" * 257 + b"ustar", mtime=0)[:15], "an archive"),
        ("a.csv.gz", gzip.compress(b"content,timestamp\n", mtime=0), "a table"),
        ("conversations.json.gz", gzip.compress(json.dumps(CHATGPT).encode(), mtime=0), "a ChatGPT export"),
        ("a.gz", gzip.compress(b'{"content": "x"}\n', mtime=0), "JSON lines"),
        ("a.zip", b"PK\x03\x04 a part of a download", "a ZIP archive that may be damaged"),
        ("a.zip", b"", "an empty file"),
        (f"{JOPLIN_ID}.md", f"Tea\n\nSteep it.\n\nid: {JOPLIN_ID}\ntype_: 1".encode(), JOPLIN),
        (f"{JOPLIN_ID}.md", f"id: {JOPLIN_ID}\r\nis_shared: 0\r\ntype_: 13\r\n".encode(), JOPLIN),
    ],
)
def test_a_file_of_another_kind_is_named_with_the_fix(tmp_path: Path, name: str, data: bytes, description: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InvalidRequest, match=rf"{name} looks like {description}, .*: [a-z]"):
        list_files(path, None)


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "entity", "name": "Ada", "observations": ["likes tea"], "content": "Ada likes tea"},
        {"content": "hi", "metadata": {"parentUuid": "u"}},
        {"content": 'A transcript has the field "parentUuid": null.'},
        {"content": "<en-export> is the root.", "tags": ["mapping", "title", "message"]},
        {"content": "hi", "metadata": {"title": "T", "mapping": {}, "chat_messages": []}},
    ],
)
def test_memories_that_resemble_the_export_of_another_program_are_read(tmp_path: Path, fields: dict[str, Any]) -> None:
    for name, data in {"a.jsonl": fields, "a.json": [fields], "b.json": {"memories": [fields]}}.items():
        (tmp_path / name).write_text(json.dumps(data))
        (item,) = _read(tmp_path / name)
        assert (item.problem, (item.fields or {})["content"]) == ("", fields["content"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    "line",
    [
        "20/05/2026 14:30 - {}: Oi",
        "[20/05/2026 14:30:05] {}: Oi",
        "\u200e[20/05/2026, 14:30:05] {}: Oi",
        "5/20/26, 9:01\u202fAM - {}: Hi",
        "20.5.2026 klo 14.30 - {}: Hei",
        "2026. 05. 20. 14:30 - {}: Szia",
        "2026/5/20 下午2:30 - {}: 你好",
        "2026년 5월 20일 오후 2:30, {} : 안녕",
        "[2026. 5. 20. 오후 2:30:05] {}: 안녕",
        "\u200f20\u200f/5\u200f/2026، 2:30 م - {}: مرحبا",
        "\u200f٢٠\u200f/٥\u200f/٢٠٢٦، ٢:٣٠ م - {}: مرحبا",
        "\u202a20/05/2026, 14:30\u202c - {}: שלום",
        "14:30, 20/5/2026 - {}: Chào",
        "[14:30, 20/05/2026] {}: Ciao",
        "[2:30 PM, 5/20/2026] {}: Hi",
        "[2:30 p.\u00a0m., 20/5/2026] {}: Hola",
    ],
)
def test_a_chat_of_whatsapp_is_recognised_in_each_language(tmp_path: Path, line: str, encoding: str) -> None:
    path = tmp_path / "chat.txt"
    long, *others = (line.format(name) for name in ("Ada", "Bob", "Ada"))
    path.write_bytes("\r\n".join([long + " x" * 3_000, *others]).encode(encoding))
    with pytest.raises(InvalidRequest, match="looks like a WhatsApp export"):
        list_files(path, None)


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.markdown"])
@pytest.mark.parametrize(
    "text",
    [
        *(
            f"{word} is how such a file begins.\nGrüße"
            for word in ("ID3", "RIFF", "OggS", "fLaC", "GIF89a", "BZh", "PAR1", "Rar!", "%PDF-1.7", "{\\rtf1")
        ),
        '# Evernote\nThe root element of an export is `<en-export export-date="…">`.',
        "Tea\n\nSteep it.\n\ntype_: 1",
        "#separator lines are not read.",
        "Tea\n- green | black\n\nsee below",
        "On 20/05/2026, 10:00 - Ada: hi\n20/05/2026, 10:01 - Ada: the only line of a chat",
    ],
)
def test_a_note_that_quotes_the_beginning_of_another_file_is_imported(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    for path in (tmp_path, tmp_path / name):
        (item,) = _read(path)
        assert item.fields and item.fields["content"] == text


@pytest.mark.parametrize(
    "text",
    [
        "5/20/2026 8:00 AM - Blood pressure: 120/80\n5/21/2026 8:00 AM - Blood pressure: 118/79\n",
        "20.05.2026 08:00 - Aufgestanden\n20.05.2026 12:00 - Mittag: Suppe\n20.05.2026 18:00 - Abend: Kino\n",
        "2026-05-20 10:00 - Review: PR 12\n2026-05-20 11:00 - Deploy: v2\n2026-05-20 12:00 - Review: PR 13\n",
        "[2026-05-01 10:30:11] ERROR: x\n[2026-05-01 10:30:12] ERROR: y\n",
        "Minutes\n\n1.5.2026, 10:30 - Ada: hi\n1.5.2026, 10:31 - Bob: hi\n",
        f"1.5.2026, 10:30 - Ada: hi\n1.5.2026, 10:31 - Bob: hi\n{START}\nTS: 2026-05-01\nBODY:\nx\n{END}\n",
        "2026-05-01 10:30:11,123 - Starting\n2026-05-01 10:30:12,345 - INFO: x\n2026-05-01 10:30:12,346 - INFO: y\n",
        "2026-05-01T10:30:11 - Starting\n2026-05-01T10:30:12 - INFO: x\n2026-05-01T10:30:12 - INFO: y\n",
        "2026-05-20 14:30 - Ada: Hej\n2026-05-20 14:30 - Ada: Hej\n",
        "---\ntitle: Plugins\n---\nexcalidraw-plugin: parsed\n",
        "20.05.2026 um 14:30 - Termin: Zahnarzt\n21.05.2026 um 9:00 - Anruf: Ada\n",
        "Drinks\n- tea | coffee\n\nNext steps\n==========\nbuy\n",
    ],
)
def test_a_log_or_note_that_resembles_an_export_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "note.txt").write_text(text)
    assert [item.problem for item in _read(tmp_path)] == [""]


@pytest.mark.parametrize(
    ("name", "text", "is_read"),
    [
        ("memories.json", '{"version": 1, "memories": [{"content": "a", "timestamp": "2026-05-20"}]}', True),
        ("array.json", '[{"tags": [], "content": "a", "timestamp": "2026-05-20"}]', True),
        ("cut.json", '[{"content": "a", "timestamp": "2026-05-20"}, {"cont', True),
        ("cut_early.json", '[{"id": "a", "tags": ["b"', True),
        ("nan.json", '[{"score": NaN, "content": "a"}]', True),
        ("deletions.json", '[{"op": "delete", "source": "crm", "key": "9"}]', True),
        ("one.json", '{"content": "a", "timestamp": "2026-05-20"}', True),
        ("package.json", '{"name": "content", "scripts": {"memories": "x"}}', False),
        ("users.json", '[{"id": "U1", "profile": {"content": "x"}}]', False),
        ("tiptap.json", '{"type": "doc", "content": [{"type": "text", "text": "a"}]}', False),
        ("memories.json", '{"memories": {"a": 1}}', False),
        ("comments.json", '// from a script\n[{"content": "a", "timestamp": "2026-05-20"}]', True),
        ("later_comments.json", '[\n  // from a script\n  {"content": "a"}]', True),
        ("patch.json", '[{"op": "add", "path": "/a", "value": {"content": "x"}}]', False),
        ("blocks.json", '[{"type": "p", "content": [{"text": "a"}]}, {"type": "p", "content": null}]', False),
        ("upsert.json", '[{"op": "UPSERT", "source": "crm", "key": "9", "text": "a"}]', True),
        ("later.json", '[{"content": null}, {"content": "b", "timestamp": "2026-05-20"}]', True),
        ("none.json", '{"memories": []}', True),
    ],
)
def test_json_in_a_folder_is_read_if_it_has_a_memory(tmp_path: Path, name: str, text: str, is_read: bool) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "note.md").write_text("A note.")
    listing = list_files(tmp_path, None)
    assert (tmp_path / name in [file for file, _ in listing.files]) == is_read
    assert any("JSON without memories" in notice and name in notice for notice in listing.notices()) != is_read


LINE = {"content": "tea", "timestamp": "2026-05-20"}


@pytest.mark.parametrize(
    ("name", "lines", "format_"),
    [
        ("rows.txt", [LINE], "jsonl"),
        ("rows", [LINE | {"title": "T"}, LINE], "jsonl"),
        ("long.txt", [LINE | {"content": "tea " * 2_000}, LINE], "jsonl"),
        ("rows.json", [LINE, LINE], "jsonl"),
        ("long.json", [LINE | {"content": "tea " * 2_000}, LINE], "jsonl"),
        ("today.log", ["Tea at four."], "markdown"),
    ],
)
def test_the_advice_for_a_file_without_a_usable_extension_works(
    tmp_path: Path, name: str, lines: list[object], format_: str
) -> None:
    path = tmp_path / name
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\r\n" for line in lines))
    with pytest.raises(InvalidRequest) as refused:
        _read(path)
    ((reason, _),) = list_files(tmp_path, None).skipped.items()
    ending = ".jsonl" if format_ == "jsonl" else ".md"
    for advice in (str(refused.value), reason):
        assert f"name it {ending}" in advice and "import it alone with " in advice
    assert len(_read(path, format_)) == len(lines)
    path.rename(path.with_suffix(ending))
    assert len(_read(tmp_path)) == len(lines)


@pytest.mark.parametrize(
    ("members", "description"),
    [
        (["Export/Plan 0123456789abcdef0123456789abcdef.md"], "a Notion export"),
        (["conversations.json", "chat.html"], "a ChatGPT or Claude export"),
        (["chat.html", "x/conversations-000.json"], "a ChatGPT or Claude export.*from its conversations-000.json"),
        (["META-INF/container.xml"], "an EPUB book"),
        (["word/document.xml"], "a document"),
        (["Index/Document.iwa", "preview.jpg"], "a document"),
        (["a.md"], "a ZIP archive"),
    ],
)
def test_a_zip_file_is_described_by_its_contents(tmp_path: Path, members: list[str], description: str) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as package:
        for member in members:
            package.writestr(member, "x")
    with pytest.raises(InvalidRequest, match=description):
        list_files(path, None)


def test_a_folder_of_mixed_formats_is_read_and_skipped_files_are_named(tmp_path: Path) -> None:
    files = {
        "a.MD": "note", "b.markdown": "note", "c.txt": "text",
        "sub/rows.jsonl": '{"content": "r", "timestamp": 20260711}\n',
        "list.json": '[{"content": "l", "timestamp": "2026-05-20"}]', ".obsidian/app.md": "x", ".trash/t.md": "x",
        ".git/x.md": "x", ".hidden.md": "x", "scan.pdf": "%PDF-", "what.xyz": "x", "empty.md": "\n",
        "rows.jsonl.failures.jsonl": "{}",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "z.md.GZ").write_bytes(gzip.compress(b"packed"))
    (tmp_path / "linked").symlink_to(tmp_path / "sub")
    (tmp_path / "broken.md").symlink_to(tmp_path / "nothing")
    listing = list_files(tmp_path, None)
    contents = sorted(item.fields["content"] for item in read_files(listing) if item.fields)
    assert contents == ["l", "note", "note", "packed", "r", "text"]
    skipped = {path for paths in listing.skipped.values() for path in paths}
    assert skipped == {
        ".obsidian", ".trash", ".git", ".hidden.md", "scan.pdf", "what.xyz", "empty.md", "rows.jsonl.failures.jsonl",
        "linked", "broken.md",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("index", "note", "notes"),
    [
        ('---\nokf_version: "0.2"\n---\n# Index', "---\ntitle: x\n---\nbody", 1),
        ("# Index", "---\ntype: Metric\n---\nbody", 1),
        ("# Index", "body", 3),
        ("---\ntitle: Home\n---\nHugo's page", "---\ntype: page\n---\nbody", 2),
    ],
)
def test_reserved_file_names_are_skipped_only_in_a_bundle(tmp_path: Path, index: str, note: str, notes: int) -> None:
    (tmp_path / "index.md").write_text(index)
    (tmp_path / "log.md").write_text("# Log")
    (tmp_path / "revenue.md").write_text(note)
    assert len(list(read(tmp_path))) == notes


def test_the_source_of_notes_is_the_same_in_each_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "a.md").write_text("x")
    monkeypatch.chdir(tmp_path)
    named = [Source.at(path).vault for path in (folder, Path("vault"), Path("vault/../vault"), folder / "a.md")]
    assert set(named) == {str(folder)}
    assert Source.at(folder, vault="mine").vault == "mine"


def _home_and_office(folder: Path, name: str, text: str) -> list[Path]:
    """Make two folders, each with a file of this name."""
    for path in (paths := [folder / "home", folder / "office"]):
        path.mkdir()
        (path / name).write_text(text)
    return paths


@pytest.mark.parametrize("name", ["README.md", "notes.txt"])
def test_one_source_for_two_notes_with_the_same_path_is_refused(tmp_path: Path, name: str) -> None:
    home, office = _home_and_office(tmp_path, name, "A note.")
    result = invoke(f"import {home} {office} --source mine --data-dir nowhere")
    assert isinstance(result.exception, InvalidRequest)
    assert f"home/{name} and {office}/{name} have the same path {name}" in str(result.exception)


def test_files_of_chronicles_with_the_same_name_may_have_one_source(tmp_path: Path) -> None:
    check_notes([list_files(folder, None) for folder in _home_and_office(tmp_path, "log.txt", f"{START}\n{END}")])


@pytest.mark.parametrize(
    ("name", "skipped", "reason"),
    [
        ("day.md", "day.md.gz", "a note of this name without .gz"),
        ("day.txt", "day.txt.gz", "a note of this name without .gz"),
        ("U\u0308.md", "\u00dc.md", "another note whose name looks the same"),
    ],
    ids=["Markdown", "text", "normal form"],
)
def test_a_note_with_the_key_of_another_is_skipped_with_a_notice(
    tmp_path: Path, name: str, skipped: str, reason: str
) -> None:
    (tmp_path / name).write_text("heron")
    (tmp_path / skipped).write_bytes(gzip.compress(b"otter") if skipped.endswith(".gz") else b"otter")
    listing = list_files(tmp_path, None)
    assert [item.fields and item.fields["content"] for item in read_files(listing)] == ["heron"]
    notice = f"not read, because the folder has {reason}; rename one to import both: {skipped}"
    assert [*listing.notices()] == [notice]


def test_a_compressed_file_of_chronicles_next_to_an_uncompressed_one_is_imported(tmp_path: Path) -> None:
    """The records of chronicles have no keys that come from the file's name, so the two files do not conflict."""
    (tmp_path / "log.txt").write_bytes(CHRONICLE)
    (tmp_path / "log.txt.gz").write_bytes(gzip.compress(CHRONICLE))
    listing = list_files(tmp_path, None)
    assert [item.fields and item.fields["content"] for item in read_files(listing)] == [CHRONICLE.decode()] * 2
    assert [*listing.notices()] == []


@pytest.mark.parametrize("name", ["Price (EUR)", "Last, First", "note.md", "a, b (c)"])
def test_an_unknown_field_is_reported_with_a_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    row = json.dumps({"content": "c", "timestamp": "2026-05-20", name: 1})
    (tmp_path / "rows.jsonl").write_text(f"{row}\n{row}")
    (tmp_path / "a, b (1).md").write_text("---\ndate: soonish\n---\nA note.")
    listing = list_files(tmp_path, None)
    import_._print_notices(listing, Counter(left_out for item in read_files(listing) for left_out in item.left_out))
    assert capsys.readouterr().err.splitlines() == [
        f"{tmp_path.name}: left out, because memories have no such fields: {name} (2 memories)",
        f'{tmp_path.name}: a, b (1).md, line 2: date ("soonish" is not a time; kept as metadata)',
    ]


@pytest.mark.parametrize("name", [".", "..", "./", "../", "sub/..", "../../vault", "../../vault/sub/.."])
def test_the_files_of_an_import_are_next_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    vault = tmp_path / "vault"
    (vault / "sub" / "sub").mkdir(parents=True)
    monkeypatch.chdir(vault if name in (".", "./", "sub/..") else vault / "sub")
    (path,) = import_._distinct_files([Path(name), vault])
    assert FailuresFile(path).path.resolve() == tmp_path / "vault.failures.jsonl"
    assert list_files(path, None).root.name == "vault"
