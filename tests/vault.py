"""A vault (folder of notes) with thirty notes, in the formats of six applications."""

from collections.abc import Callable
from dataclasses import dataclass

NAMES = [
    "Grandma Elsie pudding", "Tent pegs and guy ropes", "Kettle descaling", "Violin strings", "Sourdough starter",
]  # fmt: skip
"""Names of notes. The texts of the notes do not contain these words, so a search for a name finds the note only by its
name."""
TOPICS = [
    "steam it for two hours", "keep ten in the blue bag", "citric acid every spring", "replace them each autumn",
    "feed it on Sundays",
]  # fmt: skip


@dataclass(frozen=True)
class Note:
    """A note: its path, its name in searches, its text, and the facts that it states."""

    path: str
    name: str
    text: str
    body: str


def _obsidian(number: int, name: str, body: str) -> Note:
    front = [
        "---\ntags:\n  - home/kitchen\n  - '#idea'\naliases: [Nan]\n---\n",
        '---\ntitle: ""\ncreated: 2024-01-07\ntags: #cook #x\n---  \n',
        "---\n---\n",
        "---\ndate created: Tuesday, January 2nd 2024, 3:04:05 pm\ntitle: Draft: second try\n---\n",
        "",
    ][number % 5]
    return Note(
        f"Obsidian/Deep/{name} (obsidian).md", f"{name} obsidian", f"{front}{body} See [[Ada Lovelace|Ada]].", body
    )


def _hugo(number: int, name: str, body: str) -> Note:
    slug = name.lower().replace(" ", "-")
    front = [
        f'---\ntitle: "{name} for Hugo"\ndate: 2026-05-20T10:00:00+02:00\ndraft: false\ncategories: [a]\n---\n',
        f'+++\ntitle = "{name} for Hugo"\ndate = 2026-05-20T10:00:00Z\ntags = ["a", "b"]\n[params]\nweight = 1\n+++\n',
        f'{{\n  "title": "{name} for Hugo",\n  "date": "2026-05-20",\n  "lastmod": "2026-06-01"\n}}\n\n',
    ][number % 3]
    return Note(f"hugo/content/{slug}/index.md", f"{name} Hugo", front + body, body)


def _jekyll(number: int, name: str, body: str) -> Note:
    slug = name.lower().replace(" ", "-")
    title = f"title: {name}: a post\n" if number % 2 else ""
    front = f"---\nlayout: post\n{title}tags: one two\npublished: true\n---\n"
    return Note(f"_posts/2026-05-{number + 10}-{slug}-jekyll.MD", f"{name} jekyll", front + body, body)


def _joplin(number: int, name: str, body: str) -> Note:
    front = (
        f"---\ntitle: {name} in Joplin\nupdated: 2026-05-21 10:00:00Z\ncreated: 2026-05-20 10:00:00Z\n"
        f"latitude: 52.51\ncompleted?: {'yes' if number % 2 else 'no'}\nsource: https://example.com/a\ntags:\n  - b c\n"
        "---\n\n"
    )
    return Note(
        f"Joplin/Notebook/{name} in Joplin.markdown", f"{name} Joplin", front.replace("\n", "\r\n") + body, body
    )


def _logseq(number: int, name: str, body: str) -> Note:
    if number % 2:
        return Note(f"logseq/journals/2026_11_{number + 10}.md", f"2026-11-{number + 10}", f"- {body}\n- #logseq", body)
    front = f"title:: {name} in Logseq\ntags:: [[some page]], #other\nalias:: L{number}\n\n"
    return Note(f"logseq/pages/Projects___{name}.md", f"{name} Logseq", f"{front}- {body}", body)


def _notesnook(number: int, name: str, body: str) -> Note:
    front = (
        f'---\ntitle: "{name} in Notesnook"\ncreated_at: 2024-01-07\nupdated_at: 25-12-2025 02:12 PM\npinned: false\n'
        "favorite: true\ncolor: \ntags: red, green\n---\n\n"
    )
    mark = "\ufeff" if number % 2 else ""
    return Note(f"Notesnook/{name}-notesnook.md", f"{name} Notesnook", mark + front + body, body)


_STYLES: dict[str, Callable[[int, str, str], Note]] = {
    "Obsidian": _obsidian,
    "Hugo": _hugo,
    "Jekyll": _jekyll,
    "Joplin": _joplin,
    "Logseq": _logseq,
    "Notesnook": _notesnook,
}


def notes() -> list[Note]:
    """Return the thirty notes: five of each application."""
    return [
        write(number, name, f"{application} note {number}: {TOPICS[number]}.")
        for application, write in _STYLES.items()
        for number, name in enumerate(NAMES)
    ]
