"""List the files of an import: which files are read and in which format, and which are skipped and why."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from mnemosyne.cli import unsupported_files
from mnemosyne.cli.terminal import plain
from mnemosyne.errors import InvalidRequest
from mnemosyne.formats import reading
from mnemosyne.formats.front_matter import split
from mnemosyne.formats.item import valid_unicode

JSON_LIST = "mcp-memory-service"
_OWN = (".import-journal", ".import-journal-wal", ".import-journal-shm", ".failures.jsonl")
_RESERVED = ("index.md", "log.md")
"""File names that the Open Knowledge Format reserves, section 3.1:
https://github.com/GoogleCloudPlatform/knowledge-catalog/blob/main/okf/SPEC.md"""
SAMPLE_NOTES = 50
SHOWN_PATHS = 5


@dataclass
class Listing:
    """The files of an import (a single file, or the files in a folder): those to read, and those to skip."""

    root: Path
    files: list[tuple[Path, str]] = field(default_factory=list)
    """The files to read, each with its format, in order."""
    skipped: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Reasons to skip files, each with the paths of the skipped files below the root."""

    @property
    def is_folder(self) -> bool:
        """Whether the root is a folder. In a folder, the path of each note is the note's key."""
        return self.root.is_dir()

    def relative_path(self, file: Path) -> str:
        """Return the path of a file relative to the root, with slashes. If the root is a file, return its name."""
        return valid_unicode(file.relative_to(self.root).as_posix() if self.is_folder else file.name)

    def skip(self, file: Path, reason: str) -> None:
        """Record that a file is skipped, and why."""
        path = self.relative_path(file)
        if path not in self.skipped[reason]:
            self.skipped[reason].append(path)

    def notices(self) -> Iterator[str]:
        """Yield a line for each reason why files were skipped, with the paths of some of these files."""
        for reason, paths in self.skipped.items():
            more = f" and {len(paths) - SHOWN_PATHS:,} more" if len(paths) > SHOWN_PATHS else ""
            yield f"not read, {reason}: {', '.join(map(plain, paths[:SHOWN_PATHS]))}{more}"


def list_files(path: Path, format_: str | None) -> Listing:
    """List the files to read, and the files to skip, in a folder; or list a single file.

    Raises InvalidRequest if a single file has a kind that cannot be imported. The error names this kind and says what
    to do.
    """
    listing = Listing(path)
    if not path.is_dir():
        listing.files.append((path, format_ or _detect_format(path)))
        return listing
    for file in _walk(listing):
        _add_or_skip(listing, file, format_)
    _skip_reserved(listing)
    _skip_same_path(listing)
    return listing


def check_notes(listings: Iterable[Listing]) -> None:
    """Check the paths of notes in several folders that are imported under the same source.

    The key of a note is its path in its folder. Raises InvalidRequest if notes of two folders have the same path,
    because one would supersede (replace) the other.
    """
    notes: dict[str, Path] = {}
    for listing in listings:
        for file, format_ in listing.files:
            place = reading.note_path(listing.relative_path(file))
            other = notes.setdefault(place, file) if _may_be_note(place, format_) else file
            if other != file and not _has_chronicle(file, other):
                raise InvalidRequest(
                    f"{other} and {file} have the same path {place} in their folders, and --source gives both the same "
                    "source, so one would replace the other: import each folder with its own --source"
                )


def _may_be_note(place: str, format_: str) -> bool:
    """Whether a file can be a note, because it is a Markdown file or a text file.

    This function does not check whether a text file is a note, or has chronicles (memories as marked blocks of lines).
    """
    return format_ == "markdown" or place.lower().endswith(reading.TEXT)


def _has_chronicle(*files: Path) -> bool:
    return any(map(unsupported_files.is_chronicle, files))


def format_by_name(path: Path) -> str | None:
    """Return the format that the extension of a file name indicates; None if the extension is unknown."""
    if reading.unpacked_name(path.name).lower().endswith(".json"):
        return JSON_LIST
    return reading.format_of(path.name)


def _detect_format(path: Path) -> str:
    """Return the format of a single file. Raises InvalidRequest if the file cannot be imported."""
    format_ = format_by_name(path)
    unsupported = unsupported_files.unsupported_kind(path)
    if unsupported is None and format_ == JSON_LIST:
        unsupported = unsupported_files.without_memories(path, is_alone=True)
    if unsupported:
        raise InvalidRequest(
            f"{path} looks like {unsupported[0]}, which import does not read as it is: {unsupported[1]}"
        )
    if format_:
        return format_
    if unsupported_files.is_chronicle(path):
        return "chronicle"
    kind, advice = unsupported_files.unknown_extension(path)
    raise InvalidRequest(f"{path} is {kind}: {advice}")


def _walk(listing: Listing) -> Iterator[Path]:
    """Yield the files of a folder and its subfolders in order.

    Skips hidden files and folders, Logseq's folders of backups, linked folders, special files, and files that an import
    has written (journals, and lists of failures).
    """

    def fail(error: OSError) -> None:
        listing.skip(Path(error.filename), f"because it cannot be opened ({(error.strerror or '').lower()})")

    for folder, folders, names in os.walk(listing.root, onerror=fail):
        parent = Path(folder)
        for name in sorted(folders):
            if (parent / name).is_symlink():
                listing.skip(parent / name, "linked folders: import the folder that the link leads to")
            elif name.startswith(".") or (parent.name == "logseq" and name in ("bak", "version-files")):
                listing.skip(parent / name, "hidden folders")
            else:
                continue
            folders.remove(name)
        folders.sort()
        for name in sorted(names):
            if name.startswith("."):
                listing.skip(parent / name, "hidden files")
            elif name.endswith(_OWN):
                listing.skip(parent / name, "files that an import has written")
            elif not (parent / name).is_file():
                listing.skip(parent / name, "special files, or broken links")
            else:
                yield parent / name


def _add_or_skip(listing: Listing, file: Path, format_: str | None) -> None:
    guessed = format_by_name(file)
    try:
        unsupported = unsupported_files.unsupported_kind(file)
        if unsupported is None and guessed is None:
            unsupported = unsupported_files.unknown_extension(file)
        if unsupported is None and guessed == JSON_LIST:
            unsupported = unsupported_files.without_memories(file, is_alone=False)
    except OSError:
        unsupported = None  # do not skip the file here: the import will also fail to read it, and report the reason
    if unsupported is not None:
        listing.skip(file, f"{unsupported[0]}: {unsupported[1]}")
    elif format_ in (None, guessed):
        listing.files.append((file, guessed or "markdown"))
    else:
        listing.skip(file, f"another format than {format_}")


def _skip_reserved(listing: Listing) -> None:
    """Skip index.md and log.md if the folder is a bundle of Open Knowledge Format, which reserves these names.

    A file that has other properties than `okf_version` is not skipped.
    """
    reserved_files = [file for file, _ in listing.files if file.name in _RESERVED]
    notes = [file for file, format_ in listing.files if format_ == "markdown" and file not in reserved_files]
    if not reserved_files or not notes:
        return
    counts = Counter(bool(_properties(file).get("type")) for file in islice(notes, SAMPLE_NOTES))
    is_bundle = "okf_version" in _properties(listing.root / "index.md") or counts[True] > counts[False]
    for file in reserved_files:
        if is_bundle and not set(_properties(file)) - {"okf_version"}:
            listing.skip(file, "reserved names of Open Knowledge Format")
            listing.files = [entry for entry in listing.files if entry[0] != file]


def _skip_same_path(listing: Listing) -> None:
    """Skip a note if the folder has another note with the same key.

    This is the case if one of the two files is compressed (`.gz`), or if their names differ only in their Unicode
    normal form.
    """
    notes: dict[str, Path] = {}
    for file, format_ in list(listing.files):
        place = reading.note_path(listing.relative_path(file))
        other = notes.setdefault(place, file) if _may_be_note(place, format_) else file
        if other != file and not _has_chronicle(file, other):
            is_packed = reading.unpacked_name(file.name) != file.name
            name = "a note of this name without .gz" if is_packed else "another note whose name looks the same"
            listing.skip(file, f"because the folder has {name}; rename one to import both")
            listing.files.remove((file, format_))


def _properties(file: Path) -> dict[str, object]:
    """Return the properties of a note, or none if the file cannot be read or parsed."""
    try:
        return split(file.read_bytes()[:200_000].decode("utf-8-sig", errors="replace"))[0].values
    except (OSError, ValueError):
        return {}
