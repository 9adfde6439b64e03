"""Notes of common applications: known properties are read, others are reported."""

import gzip
import io
import json
import time
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from mnemosyne.cli.import_source import Record
from mnemosyne.domain.memory import ExternalId, FailedRequest, IngestRequest
from mnemosyne.domain.memory_input import Defaults
from mnemosyne.domain.parsing import Key
from mnemosyne.domain.rfc3339 import rfc3339
from mnemosyne.formats import reading
from mnemosyne.formats.item import Item, key_of_path, read_item
from mnemosyne.formats.note_dates import time_text
from mnemosyne.ids import new_id
from tests.examples import many_at_night

MODIFIED = datetime(2026, 11, 1, tzinfo=UTC)


def _items(data: str | bytes, path: str = "Note.md") -> list[Item]:
    stream = io.BytesIO(data.encode() if isinstance(data, str) else data)
    format_ = reading.format_of(path) or "markdown"
    return list(reading.read(stream, path, format_, modified=MODIFIED, path=path))


def _request(item: Item) -> IngestRequest:
    memory = read_item(item, Defaults(new_id=new_id), vault="vault")
    assert isinstance(memory, IngestRequest), memory
    return memory


def _refusal(item: Item) -> FailedRequest:
    memory = read_item(item, Defaults(new_id=new_id), vault="vault")
    assert isinstance(memory, FailedRequest)
    return memory


def _note(text: str, path: str = "Note.md") -> IngestRequest:
    (item,) = _items(text, path)
    return _request(item)


@pytest.mark.parametrize(
    ("block", "when"),
    [
        ("---\ncreated: 2024-01-07\n---\n", "2024-01-07T00:00:00Z"),
        ("---\ndate created: 2024-01-07 14:30\n---\n", "2024-01-07T14:30:00Z"),
        ("---\nDate Created: Sunday, January 7th 2024, 2:30:05 pm\n---\n", "2024-01-07T14:30:05Z"),
        ("---\ncreated: 2024-01-07 14:30:00Z\nupdated: 2025-01-01 00:00:00Z\n---\n", "2024-01-07T14:30:00Z"),
        ("---\nupdated: 2025-01-01\n---\n", "2025-01-01T00:00:00Z"),
        ("---\npubDate: 'Jul 08 2025'\nupdatedDate: 2026-01-01\n---\n", "2025-07-08T00:00:00Z"),
        ("---\nupdatedDate: 2026-01-01\n---\n", "2026-01-01T00:00:00Z"),
        ("---\ndate: '[[2026-05-20]]'\n---\n", "2026-05-20T00:00:00Z"),
        ("---\ncreated_at: 25-12-2025 02:12 PM\n---\n", "2025-12-25T14:12:00Z"),
        ("+++\ndate = 2026-05-20T10:00:00+02:00\n+++\n", "2026-05-20T08:00:00Z"),
        ('{\n"date": "2026-05-20"\n}\n', "2026-05-20T00:00:00Z"),
        ("date:: [[2026-05-20]]\n\n", "2026-05-20T00:00:00Z"),
        ("date:: [[May 20th, 2026]] *14:30*\n\n", "2026-05-20T14:30:00Z"),
        ("---\ncreated: '[[2026-05-20|Wednesday]] 14:30'\n---\n", "2026-05-20T14:30:00Z"),
        ("---\ndate: 0001-01-01T00:00:00Z\nlastmod: 2025-01-01\n---\n", "2025-01-01T00:00:00Z"),
        ("+++\ndate = 0001-01-01T00:00:00Z\n+++\n", rfc3339(MODIFIED)),
        ("---\ntype: Metric\ngenerated: { by: a/b, at: 2026-06-20T22:53:05Z }\n---\n", "2026-06-20T22:53:05Z"),
    ],
)
def test_the_time_of_a_note_is_read_in_every_form(block: str, when: str | None) -> None:
    note = _note(f"{block}The text.")
    assert rfc3339(note.timestamp) == when
    assert note.content.strip() == "The text."


@pytest.mark.parametrize(
    ("path", "when", "title"),
    [
        ("journals/2026_11_20.md", "2026-11-20T00:00:00Z", "2026-11-20"),
        ("_posts/2026-05-20-my-post.MD", "2026-05-20T00:00:00Z", "2026-05-20-my-post"),
        ("202607111430 Slip box.markdown", "2026-07-11T14:30:00Z", "202607111430 Slip box"),
        ("20261399 No date.md", "2026-11-01T00:00:00Z", "20261399 No date"),
        ("Projects___Garden.md", "2026-11-01T00:00:00Z", "Projects/Garden"),
        ("Plan 0123456789abcdef0123456789abcdef.md", "2026-11-01T00:00:00Z", "Plan"),
        ("20260520T143005Z.md", "2026-05-20T14:30:05Z", "20260520T143005Z"),
        ("20260520_143005.md", "2026-05-20T14:30:05Z", "20260520_143005"),
        ("2026-05-20T14-30-05.md", "2026-05-20T14:30:05Z", "2026-05-20T14-30-05"),
        ("20260520143005 Zettel.md", "2026-05-20T14:30:05Z", "20260520143005 Zettel"),
        ("2026-05-20-1430 Zettel.md", "2026-05-20T14:30:00Z", "2026-05-20-1430 Zettel"),
        ("2026-05-20 14.30 Call.md", "2026-05-20T14:30:00Z", "2026-05-20 14.30 Call"),
        ("2026-05-20 at 14.30.05.md", "2026-05-20T14:30:05Z", "2026-05-20 at 14.30.05"),
        ("2026-05-20-2030-plan.md", "2026-05-20T00:00:00Z", "2026-05-20-2030-plan"),
        ("2026-05-20 1100 Euro.md", "2026-05-20T00:00:00Z", "2026-05-20 1100 Euro"),
        ("2026-05-20 10-12 Meeting.md", "2026-05-20T00:00:00Z", "2026-05-20 10-12 Meeting"),
        ("2026-05-20-10-12 Meeting.md", "2026-05-20T00:00:00Z", "2026-05-20-10-12 Meeting"),
        ("2026-05-20 14-30-05.md", "2026-05-20T14:30:05Z", "2026-05-20 14-30-05"),
        ("202605201430 10.15 train.md", "2026-05-20T14:30:00Z", "202605201430 10.15 train"),
        ("2026-05-20 at 11.30.00 PM.md", "2026-05-20T23:30:00Z", "2026-05-20 at 11.30.00 PM"),
        ("2026-05-20 at 12.30.00\u202fAM.md", "2026-05-20T00:30:00Z", "2026-05-20 at 12.30.00\u202fAM"),
        ("2026-05-20 11.30 p.m. call.md", "2026-05-20T23:30:00Z", "2026-05-20 11.30 p.m. call"),
        ("2026-05-20 11.30pm.md", "2026-05-20T23:30:00Z", "2026-05-20 11.30pm"),
        ("2026-05-20 14.30 am See.md", "2026-05-20T14:30:00Z", "2026-05-20 14.30 am See"),
        ("2026-05-20 11.30 PMO.md", "2026-05-20T11:30:00Z", "2026-05-20 11.30 PMO"),
        ("2026-05-20T2130+0200.md", "2026-05-20T19:30:00Z", "2026-05-20T2130+0200"),
        ("20260520T213005-0430 walk.md", "2026-05-21T02:00:05Z", "20260520T213005-0430 walk"),
        ("2026-05-20T21:30:05+02:00.md", "2026-05-20T19:30:05Z", "2026-05-20T21:30:05+02:00"),
        ("2026-05-20T1430-1520 lecture.md", "2026-05-20T14:30:00Z", "2026-05-20T1430-1520 lecture"),
        ("2026-05-20 143 ideas.md", "2026-05-20T00:00:00Z", "2026-05-20 143 ideas"),
        ("2026-05-20_26-30.md", "2026-05-20T00:00:00Z", "2026-05-20_26-30"),
        ("May 20th, 2026.md", "2026-05-20T00:00:00Z", "May 20th, 2026"),
        ("journals/Wednesday, 20 May 2026.md", "2026-05-20T00:00:00Z", "Wednesday, 20 May 2026"),
        ("20.05.2026.md", "2026-05-20T00:00:00Z", "20.05.2026"),
        ("2026-5-2.md", "2026-05-02T00:00:00Z", "2026-5-2"),
        ("05-06-2026.md", "2026-11-01T00:00:00Z", "05-06-2026"),
        ("May 20th, 2026 Tea.md", "2026-11-01T00:00:00Z", "May 20th, 2026 Tea"),
        *(
            (f"{name}.md", "2026-11-01T00:00:00Z", name)
            for name in (
                "Decision 12 2025",
                "10 Marvels 2019",
                "Monitor 2024.1.2",
                "2024.1.2",
                "1.2.2024",
                "May",
                "1984",
                "v2026-05-20",
            )
        ),
        ("Sept. 3, 2026.md", "2026-09-03T00:00:00Z", "Sept. 3, 2026"),
        ("1779287400.md", "2026-11-01T00:00:00Z", "1779287400"),
        ("posts/summer/index.md", "2026-11-01T00:00:00Z", "summer"),
        ("Bear/2026-05-20 Summer v1.2.textbundle/text.markdown", "2026-05-20T00:00:00Z", "2026-05-20 Summer v1.2"),
        ("shopping.TXT", "2026-11-01T00:00:00Z", "shopping"),
    ],
)
def test_the_file_name_of_a_note_is_its_title_and_may_contain_its_date(path: str, when: str, title: str) -> None:
    note = _note("The text.", path)
    assert (rfc3339(note.timestamp), note.title) == (when, title)
    assert note.metadata["path"] == path


@pytest.mark.parametrize(
    ("tags", "read_as"),
    [
        ("[a, b/c]", ("a", "b/c")), ("a, b", ("a", "b")), ("#a", ("a",)), ("#a #b/c", ("a", "b/c")),
        ("\n  - a\n  - '#b'", ("a", "b")), ("\n- #a\n- b", ("a", "b")), ('"#a, #b"', ("a", "b")), ("2026", ("2026",)),
        ("", ()), ("[]", ()), ("[[a b]], #c", ("a b", "c")), ("[a, [b]]", ("a", "b")), ("[No, 1.10]", ("No", "1.10")),
        ("[true, False, 1]", ("true", "false", "1")), ("true", ("true",)), ("a, [b]", ("a", "[b]")),
        ("'[a, b]'", ("a", "b")), ("a b-c  d/e", ("a", "b-c", "d/e")), ('"a b"', ("a", "b")), ("a b, c", ("a b", "c")),
        ("[a b, c]", ("a b", "c")), ("'[[a b]]'", ("a b",)), ("[a, {name: b}, [c]]", ("a", "c")),
    ],
)  # fmt: skip
def test_tags_are_read_in_every_form(tags: str, read_as: tuple[str, ...]) -> None:
    assert _note(f"---\ntags: {tags}\n---\nx").tags == read_as


@pytest.mark.parametrize(
    ("body", "tags"),
    [
        ("Steam it. #home/kitchen #Idee, (#draft) and\n#todo", ("home/kitchen", "Idee", "draft", "todo")),
        ("- #[[Project X]] #alpha-1 #alpha-1\n\t- #ALPHA-1", ("Project X", "alpha-1")),
        ("#日本語 と #हिन्दी। #für_uns. “#quoted” #y1984/", ("日本語", "हिन्दी", "für_uns", "y1984")),
        ("# Heading\n## Another\nissue #42, C#, page#part, https://example.com/#top \\#no #", ()),
        ("`#code` and\n```sh\n#!/bin/sh\n #x\n```\n- ~~~\n #in-a-list\n  ~~~\n#after\n```\n#unclosed", ("after",)),
        (
            "#佐々木 #三〇年、#今日は。 #می\u200cخواهم #قهوة، #سلام؟ #«x» #café» #Łódź; #ёжик… #col·lecció",
            ("佐々木", "三〇年", "می\u200cخواهم", "قهوة", "سلام", "café", "Łódź", "ёжик", "col·lecció"),
        ),
        (f"#{'x' * 101} #{'y' * 100}", ("y" * 100,)),
        (
            "- [Plan](#plan)\n- [Ziele]( #ziele) ![x](a.png #w)\n[[Note #heading|a #b]] [[#c]] and (#d) [e] #[[f g]]",
            ("d", "f g"),
        ),
        ("## Tea {#tea}\n{: #steep .no_toc }\n## Milk {.a #milk}\n{{ #a }} {#b and {: #c\n{.d}", ("a", "c")),
        ('<path fill="url(#chart)" style="x: #f59e0b"/><a href=\'x\'\ntitle="Of #tea">#b</a> a < b #c > d', ("c",)),
        ("Wenn p <X = 3 gilt.\n\n#wichtig\n\n> Zitat", ("wichtig",)),
        ("if a<b and c=5: #todo then 7 > 3", ("todo",)),
        ('<input disabled value="x > #y"> #z', ("z",)),
    ],
)
def test_tags_in_the_text_of_a_markdown_note_are_tags(body: str, tags: tuple[str, ...]) -> None:
    assert _note(body).tags == tags
    assert _note(f"---\ntags: [first]\n---\n{body}", "Note.MD").tags == ("first", *tags)
    assert _note(body, "Note.txt").tags == ()


def test_only_yaml_separates_tags_by_spaces() -> None:
    """In Obsidian and Jekyll, no tag has a space. In the other programs, a tag may have spaces."""
    assert _note("tags:: long walks\n\nx").tags == _note('+++\ntags = "long walks"\n+++\nx').tags == ("long walks",)
    page = _note("# Plan\n\nTags: long walks\n\nx", "Plan 0123456789abcdef0123456789abcdef.md")
    assert page.tags == ("long walks",)
    assert _note("---\ntag: long walks\n---\nx").tags == ("long walks",)
    notesnook = "created_at: 20-05-2026 02:30 PM\nupdated_at: 21-05-2026 02:30 PM"
    assert _note(f"---\n{notesnook}\ntags: long walks\n---\nx").tags == ("long walks",)


@pytest.mark.parametrize("path", ["Pläne/Überblick.md", "ノート/ガイド.md", "Việt/Đà Nẵng.md.gz"])
@pytest.mark.parametrize("body", ["# {title}\n\nText", "---\ntitle: {title}\n---\nText", "Text"])
def test_a_file_name_of_macos_gives_the_same_note_as_on_other_systems(path: str, body: str) -> None:
    """In file names, macOS decomposes letters such as é into a letter and a combining mark."""
    title = path.rpartition("/")[2].partition(".")[0]
    data = body.format(title=title).encode()
    data = gzip.compress(data) if path.endswith(".gz") else data
    (composed,), (decomposed,) = (_items(data, unicodedata.normalize(form, path)) for form in ("NFC", "NFD"))
    assert decomposed.path == composed.path
    assert _request(decomposed) == replace(_request(composed), request_id=_request(decomposed).request_id)
    assert _request(composed).title == title


@pytest.mark.parametrize(
    ("block", "title", "content"),
    [
        ('---\ntitle: ""\n---\n', "Note", "x"),
        ("---\ntitle: 2024\n---\n", "2024 (Note)", "x"),
        ("---\ntitle: [a, b]\n---\n", "Note", "x"),
        ("---\ntitle: Note: again\n---\n", "Note: again", "x"),
        ("---\ntitle: {{title}}\ndate: <% tp.date.now() %>\n---\n", "{{title}} (Note)", "x"),
        ("---\ntitle: '[[Ada Lovelace|Ada]], note'\n---\n", "Ada, note", "x"),
        ('---\ntitle: "unclosed note\nother: 1\n---\n', '"unclosed note', "x"),
        ("---  \n---\t\n", "Note", "x"),
        ("---\n...\n", "Note", "x"),
        ("\ufeff---\r\ntitle: note\r\n---\r\n", "note", "x"),
        ("---\nalias: *star\n---\n", "Note (*star)", "x"),
        ("---\n\nA horizontal rule\n\n---\n", "Note", "---\n\nA horizontal rule\n\n---\nx"),
        ("---\n# A slide\n---\n", "Note", "---\n# A slide\n---\nx"),
        ("---\n\n# A slide\n## of Marp\n\n---\n", "Note", "---\n\n# A slide\n## of Marp\n\n---\nx"),
        ("+++\n# A slide\n+++\n", "Note", "+++\n# A slide\n+++\nx"),
        ("---\n~\n---\n", "Note", "---\n~\n---\nx"),
        ("---\n \n---\n", "Note", "x"),
        ("+++\n\n+++\n", "Note", "x"),
        ("---\nunclosed\n", "Note", "---\nunclosed\nx"),
        ("+++\ntitle = 'note'\nbroken = = 1\n+++\n", "note", "x"),
        ("{ not json\n", "Note", "{ not json\nx"),
        *(
            (text, "Note", f"{text}x")
            for text in (
                "---\nDear Ada: thank you for the tea\nand for the cake.\n---\n",
                "---\r\nDear Ada: thank you\r\n\r\nand for the cake.\r\n---\r\n",
                "+++\nDear Ada = thank you\n+++\n",
                "---\nlist: [1,\n  2\n---\n",
                "---\n\tnested: tab\ntitle: note\n---\n",
            )
        ),
        *(
            (text := f'{{"{name}": {"[" * 900}{"]" * 900}}}\n', "Note", f"{text}x")
            for name in ("a", "tags", "content_hash")
        ),
    ],
)
def test_a_wrong_property_does_not_refuse_a_note(block: str, title: str, content: str) -> None:
    note = _note(f"{block}x")
    assert (note.title, note.content) == (title, content)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("---\ntitle: a\ndate: 2026\n---\n", "line 3: date must be a date, got 2026"),
        ("---\ncreated_at: 46000\n---\n", "line 2: created_at must be a date, got 46000"),
        ("---\r\na: 1\r\nb: 2\r\ncreated: 20261399\r\n---\r\n", "line 4: created must be a date or time that exists"),
        ("+++\ndate = 7\n+++\n", "line 2: date must be a date, got 7"),
    ],
)
def test_a_number_that_is_not_a_date_is_reported_with_its_line_and_property(block: str, message: str) -> None:
    (item,) = _items(f"{block}x")
    refused = _refusal(item)
    assert message in refused.error
    assert refused.external_id == ExternalId("vault", "Note.md")


@pytest.mark.parametrize("own", ["", "source: crm\nkey: 7\n"])
@pytest.mark.parametrize("time", ["date: 2026", "created_at: 46000", ""])
def test_a_note_without_a_valid_time_can_be_corrected_in_the_file_of_failures(time: str, own: str) -> None:
    note = f"---\n{time}\ntitle: Tea\ntags: [a, b]\n{own}mood: good\n---\nSteep it."
    (item,) = reading.read(io.BytesIO(note.encode()), "v/Tea.md", "markdown", path="Tea.md")
    line = json.loads(Record(item, _refusal(item)).line) | {"timestamp": "2026-05-20"}
    (corrected,) = _items(json.dumps(line), "failures.jsonl")
    request = _request(corrected)
    assert (request.content, request.title, request.tags) == ("Steep it.", "Tea", ("a", "b"))
    assert request.metadata["mood"] == "good" and request.metadata["path"] == "Tea.md"
    assert request.external_id == (ExternalId("crm", "7") if own else ExternalId("vault", "Tea.md"))


@pytest.mark.parametrize("body", ["", "-", "- ", "-\n", "\n-", "- \n\t-\r\n", "*"])
def test_a_page_with_only_empty_bullets_has_no_text(body: str) -> None:
    """Logseq creates such a page for each day on which it is opened."""
    assert _items(body) == []
    assert _note(f"title:: Tea\n\n{body}").content == _note(f"---\ntitle: Tea\n---\n{body}").content == "Tea (Note)"
    assert _note(f"{body} x").content == f"{body} x"


@pytest.mark.parametrize(
    ("block", "notice"),
    [
        ("---\ndate: next tuesday\n---\n", 'Note.md, line 2: date ("next tuesday" is not a time; kept as metadata)'),
        (
            "---\ntimezone: CEST\n---\n",
            "Note.md, line 2: timezone must be an IANA name such as UTC or Europe/Berlin, got 'CEST'; kept as metadata",
        ),
        ("---\na: 1\nlist: [1,\n  2\nb: 2\n---\n", "Note.md, line 3: list (not YAML)"),
        (f"---\ntags: [{'x' * 101}]\n---\n", "Note.md, line 2: tags (a tag of 101 characters)"),
        ("---\ntags:\n- a\n- b: c\n---\n", "Note.md, line 2: tags (an object is not a tag; kept as metadata)"),
        *(
            (f"---\n{block}\n---\n", "Note.md, line 2: tags (line 4 has this property again)")
            for block in ("tags: a\nb: 1\ntags: c", "tags:\n- a\n'tags': [c]", "tags: [a]\nb: x: y\ntags: c")
        ),
    ],
)
def test_a_property_that_is_not_used_is_reported_with_its_line(block: str, notice: str) -> None:
    (item,) = _items(f"{block}x")
    assert item.left_out == (notice,)


@pytest.mark.parametrize(
    ("block", "name", "value"),
    [
        ("plan: |\n  - #one\n  - #two", "plan", "- #one\n- #two"),
        ("plan: >-\n  Do:\n\n  - #one", "plan", "Do:\n- #one"),
        ("plan: 'Do:\n\n  - #one'", "plan", "Do:\n- #one"),
        ('plan: "Do:\n\n  tags: #one"', "plan", "Do:\ntags: #one"),
        ("a:\n  plan: |\n    - #one\n  topics:\n    - #two", "a", {"plan": "- #one\n", "topics": ["#two"]}),
        ("plan: |\n  text\ntopics:\n- #two", "topics", ["#two"]),
        ("plan: |\n  text\nbroken: [\ntopics:\n- #two", "topics", ["#two"]),
    ],
)
def test_a_hash_tag_is_quoted_only_outside_of_a_text_of_several_lines(block: str, name: str, value: object) -> None:
    for line_end in ("\n", "\r\n"):
        text = f"---\ntags: #a #b\n{block}\n---\nx".replace("\n", line_end)
        note = _note(text)
        assert (note.tags, note.metadata[name]) == (("a", "b"), value)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_a_note_is_read_in_each_common_encoding_of_editors(encoding: str) -> None:
    (item,) = _items("---\ntitle: Café note\n---\nGrüße aus dem Süden, und viele Worte.".encode(encoding))
    request = _request(item)
    assert (request.title, request.content) == ("Café note", "Grüße aus dem Süden, und viele Worte.")
    assert bool(item.left_out) == (encoding == "cp1252")


@pytest.mark.parametrize(
    "text",
    [
        "L’été dernier, « à côté » de la forêt… où ? – là-bas",
        "Umlaute: äöüß",
        "Þetta er íslenska: ðæööþ",
        "——— “Hallo” ——— •••••••••• 5 €",
        "5 m³ Erde, ein 1¼-Liter-Krug, H²O¹, §1a, 20°C, 3½ Tage, Größe½.",
        "hola¿Qué tal?¡Muy bien! ¿y tú? (¿sí?) ¡no!",
        "Škoda, Žižka, Ÿ, RÉSUMÉ, ŒUVRE, ŠÁRKA; Mª José, col·lega, it´s 5µm, a±b, c¸a, “x”y, naïve",
        "äöüß",
        "Ich sagte„nein“, und sie„ja“.",
        "l'an¹dernier",
        "Otsustasime õhtul, et söök on väga hõlbus: põder, öökull, jõgi. Café José ja Álvarez.",
        "Ações e opções: põe a manhã; as irmãs e órfãs de São João. À distância, güeto, öre e mãe.",
        "Vokabeln: ação, irmãs, île, plaît, país, lições, avós, õ, ö, ø – Brøndby, città, così, lunedì",
        "word†note",
        "Ayer volví. Mañana iré. " * 10 + "Hola¿cómo estás?",
        "Diário. Amanhã vamos à Île de la Cité. De manhã, Île Saint-Louis.",
        "1ºtrimestre e 2ºtrimestre: uma maçã amanhã de manhã, irmãzinha e capitãs.",
        "Übermäßig höfliche Grüße an Søren und Bjørn in Åsgårdstrand",
        "Il pìccolo prìncipe vive qui.",
    ],
)
def test_a_note_in_windows_1252_is_read(text: str) -> None:
    (item,) = _items(text.encode("cp1252"))
    assert _request(item).content == text
    assert item.left_out == ("Note.md (read as Windows-1252, because it is not UTF-8)",)


@pytest.mark.parametrize(
    "text",
    [
        "İstanbul'da güzel bir gün, çığ ve şişe.",
        "kış",
        "çay içtim, sıcak",
        "ŞİŞLİ'DE TOPLANTI",
        "“Ayşe” yazdı – 5 €",
    ],
)
def test_a_note_in_turkish_is_read_in_windows_1254(text: str) -> None:
    (item,) = _items(text.encode("cp1254"))
    assert _request(item).content == text
    assert item.left_out == ("Note.md (read as Windows-1254, because it is not UTF-8)",)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("会议记录：我们决定使用新的数据库。PR https://example.com/a", "gbk"),
        ("會議記錄：我們決定使用新的資料庫。", "big5"),
        ("会議の記録：新しいデータベースを使うことに決めました。", "shift_jis"),
        ("Мы решили использовать новую базу данных, и всё.", "cp1251"),
        ("Мы решили использовать новую базу данных.", "koi8-r"),
        ("قررنا استخدام قاعدة بيانات جديدة", "cp1256"),
        ("เราตัดสินใจใช้ฐานข้อมูลใหม่", "cp874"),
        ("สวัสดี", "tis-620"),
        ("会議の記録：新しいデータベースを使うことに決めました。", "iso2022_jp"),
        ("Rozhodli jsme se používat novou databázi, která je rychlejší a levnější při běhu. Příště.", "cp1250"),
        ("Při běhu dveře věčně vržou.", "iso8859-2"),
        ("Úgy döntöttünk, hogy új adatbázist használunk: gyorsabb, és a jövő hónaptól előbb lesz kész.", "cp1250"),
        ("Am hotărât să folosim o bază de date nouă, mai rapidă şi mai bună în producţie.", "cp1250"),
        ("Das Treffen in München war schön.", "cp437"),
        ("Käse", "cp850"),
        ("De går på vår gård i går", "cp850"),
        ("Käse", "mac_roman"),
        ("un café", "mac_roman"),
        ("会議の記録", "shift_jis"),
        ("Zażółć gęślą jaźń", "cp1250"),
        ("Byłem na zakupach", "cp1250"),
        ("Być może pójdę", "iso8859_2"),
        ("Ještě to šťastně", "cp1250"),
        ("Быстро", "cp866"),
    ],
)
def test_a_note_in_an_encoding_of_another_script_is_refused(text: str, encoding: str) -> None:
    (item,) = _items(text.encode(encoding))
    assert "it is not text in UTF-8, UTF-16 or Windows-1252" in item.problem


@pytest.mark.parametrize("text", ["Das Café ist geöffnet, und die Brücke führt zur Gü", "会议记录"])
def test_a_note_in_utf_8_that_is_cut_off_within_a_character_is_refused(text: str) -> None:
    (item,) = _items(text.encode()[:-1])
    assert "can't decode" in item.problem


PAGE = "Plan 0123456789abcdef0123456789abcdef.md"
"""Path of a page that Notion has exported."""
SPACES = " " * 90_000


@pytest.mark.parametrize(
    "text",
    [
        f"+++\n{'a.' * 45_000}a = 1\n+++\nx",
        f"+++\n[{'a.' * 45_000}a]\n+++\nx",
        f"""+++\nb = {{{'"a" . ' * 15_000}a = 1}}\n+++\nx""",
        f"---\n- #a\nb: '1'\nc: {'[' * 90_000}\n---\nx",
        "---\n{}\n---\nx".format("\n".join(f"a{number}: {'[' * 1_000}" for number in range(95))),
        f"---\ntags:\n- #a{SPACES}b\n---\nx",
        f"---\na{SPACES}b\n---\nx",
        f"---\na: 1\nb{SPACES}\n---\nx",
        f"---\na: [\nb{SPACES}c: d\n---\nx",
        f"a:: b{SPACES}c\nx",
        f"---\naliases: [{', '.join(f'z{number}' for number in range(9_000))}]\n---\n{'word ' * 70_000}",
        "-" * 90_000 + "`\n```\n~~~\n" * 30_000 + " #[[a" * 90_000 + "](" * 90_000 + "[[" * 90_000,
        "<a" * 90_000 + ">" + "{:" * 90_000 + "<a=" * 90_000,
        f"# x\n\na: b\n{SPACES[:400]}x\n{'y:' * 20_000}\n{SPACES}",
    ],
    ids=[
        "key", "table", "inline table", "flow", "flow on many lines", "tag", "no property", "spaces at the end",
        "not YAML", "Logseq", "aliases", "tags in the text", "attributes", "Notion",
    ],
)  # fmt: skip
def test_the_time_for_a_note_does_not_grow_with_the_square_of_its_length(text: str) -> None:
    before = time.thread_time()
    assert _items(text, PAGE if text.startswith("#") else "Note.md")
    assert time.thread_time() - before < 5.0


@pytest.mark.parametrize(
    ("block", "title", "metadata"),
    [
        ("title: [First, Second]", "Note", {"title": ["First", "Second"]}),
        ("title: {en: Hello}", "Note", {"title": {"en": "Hello"}}),
        ("Title: Note\ntitle: Other note", "Note", {"title": "Other note"}),
        (f"title: {'note ' * 120}", ("note " * 100), {"title": ("note " * 120).strip()}),
        ("title: Note\nstale_after: 2026-09-23", "Note", {"stale_after": "2026-09-23"}),
        ("title: Note\nalias: A\naliases: [B, C]", "Note (A; B; C)", {"aliases": ["A", "B", "C"]}),
        ("title: Note\naliases: {en: A}", "Note", {"aliases": {"en": "A"}}),
        ("title: Note\naliases: '[A, B]'", "Note (A; B)", {"aliases": ["A", "B"]}),
        ("title: Note\naliases: '[[A B]], [[C#part|D]]'", "Note (A B; D)", {"aliases": ["A B", "D"]}),
        ("title: Note\naliases: A, [draft]", "Note (A; [draft])", {"aliases": ["A", "[draft]"]}),
        ("title: Note\naliases: ['[[A B]]', '[C](c)', true]", "Note (A B; C; true)", {"aliases": ["A B", "C", "true"]}),
    ],
)
def test_an_unused_title_or_alias_stays_in_the_metadata(block: str, title: str, metadata: dict[str, Any]) -> None:
    note = _note(f"---\n{block}\n---\nx")
    assert note.title == title
    assert note.metadata.items() >= metadata.items()


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_properties_of_a_page_of_notion_are_read_and_stay_in_its_text(line_end: str) -> None:
    text = "# Plan\n\nCreated: May 3, 2026 9:41 AM\nTags: tea, long walks\nStatus: In progress: half\n\nSteep it."
    note = _note(text.replace("\n", line_end), PAGE)
    assert (note.timestamp, note.title, note.tags) == (
        datetime(2026, 5, 3, 9, 41, tzinfo=UTC), "Plan", ("tea", "long walks"),
    )  # fmt: skip
    assert note.metadata["Status"] == "In progress: half"
    assert "Status: In progress: half" in note.content and note.content.endswith("Steep it.")


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("lines", ["line one\nline two", "line one\nhttps://example.com\n- a list"])
def test_a_property_of_a_page_of_notion_may_have_several_lines(lines: str, line_end: str) -> None:
    text = f"# Plan\n\nDescription: {lines}\nDate: May 20, 2026\n\nSteep it."
    note = _note(text.replace("\n", line_end), PAGE)
    assert note.timestamp == datetime(2026, 5, 20, tzinfo=UTC)
    assert note.metadata["Description"] == lines
    (item,) = _items(text.replace("May 20, 2026", "soon"), PAGE)
    number = text[: text.index("Date:")].count("\n") + 1
    assert item.left_out == (f'{PAGE}, line {number}: Date ("soon" is not a time; kept as metadata)',)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("# Plan\n\nCreated: May 3, 2026\n\nSteep it.", "Plan.md"),
        ("# Plan\n\nA paragraph\nCreated: May 3, 2026\n", PAGE),
        ("# Plan\n\nCreated: May 3, 2026\nis a line of a paragraph.\n", PAGE),
        ("# Plan\n\nhttps://example.com\nCreated: May 3, 2026\n", PAGE),
        ("Created: May 3, 2026\n\nSteep it.", PAGE),
        ("# Plan\n\n- Created: May 3, 2026\n", PAGE),
    ],
)
def test_other_lines_with_a_colon_are_not_properties(text: str, path: str) -> None:
    note = _note(text, path)
    assert note.timestamp == MODIFIED and "Created" not in note.metadata


def test_links_and_folder_of_a_note_are_kept() -> None:
    note = _note("See [[Ada Lovelace|Ada]], [[B#part]] and [c](../c%20d.md).", "People/Work/Elsie.md")
    assert note.content == "See [[Ada Lovelace|Ada]], [[B#part]] and [c](../c%20d.md)."
    assert note.metadata["links"] == ["Ada Lovelace", "B", "../c d.md"]
    assert note.metadata["folder"] == "People/Work"


def test_a_note_s_source_and_key_are_used_and_a_source_without_a_key_is_metadata() -> None:
    assert _note("---\nsource: crm\nkey: 7\n---\nx").external_id == ExternalId("crm", "7")
    clipped = _note("---\nsource: https://example.com\n---\nx")
    assert clipped.external_id == ExternalId("vault", "Note.md")
    assert clipped.metadata["source"] == "https://example.com"


@pytest.mark.parametrize("character", "\u200e\u200b\u00ad\ufeff\u2028\t\n\a\u200f\u202a\uf03a\uf8ff")
@pytest.mark.parametrize("path", ["{}a.md", "b/a{}.md", "c" * 299 + "{}.md"])
def test_a_note_whose_name_has_an_invisible_character_is_read_and_has_its_own_key(path: str, character: str) -> None:
    key = key_of_path(path.format(character))
    assert TypeAdapter(Key).validate_python(key) == key != key_of_path(path.format(""))


@pytest.mark.parametrize(
    ("path", "key"),
    [
        *((path, path) for path in ("a.md", "Ordner/ü 👩\u200d🔬.md", "नमस्ते.md", " a b.md")),
        ("caf\udce9.md", "caf\\udce9.md"),
        ("caf\udce8.md", "caf\\udce8.md"),
    ],
)
def test_the_key_of_a_path_has_escapes_for_bytes_that_are_not_utf_8(path: str, key: str) -> None:
    assert key_of_path(path) == key


def test_paths_longer_than_a_key_have_different_keys() -> None:
    paths = [f"{'a' * 400}{n}/b.md" for n in range(3)]
    assert len({key_of_path(path) for path in paths}) == 3
    assert max(len(key_of_path(path)) for path in paths) <= 300


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026/5/3", "2026-05-03"), ("May 20th, 2026", "2026-05-20"), ("20 May 2026 14:30", "2026-05-20T14:30:00"),
        ("20.05.2026", "2026-05-20"), ("12/25/2026", "2026-12-25"), ("05/06/2026", None), ("2026", None), ("May", None),
        ("2026-05-20 2:30 AM", "2026-05-20T02:30:00"), ("13:00 pm", None), ("31.02.2026", None),
        ("2026-05-2014:30", None), ("May 3, 2026, 9:41\u202fAM", "2026-05-03T09:41:00"),
        ("5. marraskuuta 2023", None), ("5 marzo 2023", "2023-03-05"), ("1 March 2023", "2023-03-01"),
        ("2026-05-03 10:00 PST", "2026-05-03T10:00:00-08:00"), ("2026-05-03 10:00 cest", "2026-05-03T10:00:00+02:00"),
        ("May 3, 2026 9:41 PM EDT", "2026-05-03T21:41:00-04:00"), ("2026-05-03 10:00 GMT", "2026-05-03T10:00:00+00:00"),
        ("Sun May 03 2026 10:00:00 GMT+0200 (Central European Summer Time)", "2026-05-03T10:00:00+0200"),
        ("2026-05-03 10:00 UTC+02:00", "2026-05-03T10:00:00+02:00"), ("2026-05-03 10:00 IST", None),
        ("2026-05-03 10:00 CST", None), ("2026-05-03 10:00 LUNCH", None),
        ("May 20, 2026 2:30 PM (GMT+2)", "2026-05-20T14:30:00+02"), ("May 20, 2026 2:30 PM (IST)", None),
        ("May 20, 2026 2:30 PM (GMT+5:30)", "2026-05-20T14:30:00+05:30"),
        ("May 20, 2026 2:30 PM (EDT)", "2026-05-20T14:30:00-04:00"), ("May 20, 2026 → May 22, 2026", "2026-05-20"),
        ("May 20, 2026 2:30 PM (GMT+2) → 4:30 PM", "2026-05-20T14:30:00+02"),
        ("2026-05-20 14:30 GMT-11", "2026-05-20T14:30:00-11"), ("→ May 22, 2026", None),
        ("3\u00a0May\u00a02026", "2026-05-03"), ("Sun, May  3 2026 at\t09:41", "2026-05-03T09:41:00"),
    ],
)  # fmt: skip
def test_dates_as_people_write_them(text: str, meant: str | None) -> None:
    assert time_text(text) == meant


@pytest.mark.parametrize(
    ("block", "when"),
    [
        ("created_at: 05-06-2026 02:12 PM\nupdated_at: 07-08-2026 09:00 AM", datetime(2026, 6, 5, 14, 12, tzinfo=UTC)),
        ("created_at: 05-06-2026 02:12 PM\nupdated_at: 06-25-2026 09:00 AM", datetime(2026, 5, 6, 14, 12, tzinfo=UTC)),
        ("date: 05/06/2026\nlastmod: 13/06/2026", datetime(2026, 6, 5, tzinfo=UTC)),
        ("date: 05/06/2026\nlastmod: 06/13/2026", datetime(2026, 5, 6, tzinfo=UTC)),
        ("date: 05/06/2026\nlastmod: 06/07/2026", MODIFIED),
        ("date: 05/06/2026\nlastmod: 06/13/2026\ndue: 13/06/2026", datetime(2026, 6, 13, tzinfo=UTC)),
        ("created_at: 05-06-2026", MODIFIED),
    ],
)
def test_the_order_of_day_and_month_is_that_of_another_date_or_of_notesnook(block: str, when: datetime) -> None:
    assert _note(f"---\n{block}\n---\nx").timestamp == when


NAMES = st.text(st.characters(categories=["Ll", "Lu", "Nd"], include_characters="_- ?"), min_size=1, max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.dates().map(str),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
KNOWN = st.sampled_from(
    ["title", "tags", "aliases", "tag", "session", "timezone", "metadata", "source", "key", "op", "path"]
)
FRONT = st.dictionaries(NAMES | KNOWN, VALUES, max_size=6)
DAMAGE = st.lists(
    st.tuples(st.integers(0, 200), st.sampled_from(list("\"'[]{}:#&*!|>%@`-\t\n ,\x00\x85é"))), max_size=4
)
ENDS = st.sampled_from(["---\n", "--- \n", "...\n", "---\r\n", "---"])


def _damaged(block: str, damage: list[tuple[int, str]]) -> str:
    for place, character in damage:
        at = place % (len(block) + 1)
        block = block[:at] + character + block[at:]
    return block


BODIES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), max_size=60)


@many_at_night
@given(FRONT, DAMAGE, ENDS, BODIES)
def test_a_note_with_any_front_matter_is_read(
    front: dict[str, Any], damage: list[tuple[int, str]], end: str, body: str
) -> None:
    text = f"---\n{_damaged(yaml.safe_dump(front, allow_unicode=True), damage)}{end}{body}"
    for item in _items(text):
        memory = read_item(item, Defaults(new_id=new_id), vault="vault")
        assert isinstance(memory, FailedRequest | IngestRequest)
        if isinstance(memory, FailedRequest):
            assert "\x00" in text or not (body.strip() or front) or " must be a date" in memory.error, memory.error
        else:
            assert memory.title.strip() and memory.external_id
            assert damage or "\n---" in body or body.strip() == "" or memory.content.endswith(body.lstrip("\n"))
