"""Decode text in UTF-8, UTF-16, UTF-32, Windows-1252 or its Turkish variant Windows-1254. Pure."""

import codecs
import io
import re
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from mnemosyne.errors import InvalidRequest

# Byte order marks. Those of UTF-32 are first, because the little-endian mark of UTF-32 begins with that of UTF-16.
_MARKS = {
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]{4,}")
_IN_RUNS = 8
"""A text is taken for a text in another script only if its runs have at least this number of characters in total. A run
is a sequence of four or more characters beyond ASCII. Fewer characters can be a list of letters, such as äöüß."""
_IN_RUNS_OF_SHORT_TEXT = 5
"""The same minimum as _IN_RUNS, for a text that has fewer ASCII letters than characters in runs."""
# Matches signs within words, and capital letters after small letters. If a text in another encoding, such as code page
# 437, Mac Roman or Windows-1250, is decoded as Windows-1252, some of its letters become such misplaced characters.
_MISPLACED = re.compile(
    r"[^\W\d_][¡³¿¼½¾¶§¤‡‰ŠŽŸ][a-zß-öø-ÿœšž]|[^\W\d_](?:„(?![^„\n]*“)|‚)[^\W\d_]|[a-z][ŠŽŸ](?![A-Z])"
)
_MARK_OF_NOTE = re.compile(r"[^\W\d_][¹†][a-zß-öø-ÿœšž]")
"""Pattern of a footnote mark between letters, which a text in Windows-1252 rarely has. If a text has several, they are
probably letters in another encoding."""
_MAX_MISPLACED = 0.05
"""A text is taken for Windows-1252 only if at most this fraction of its characters beyond ASCII is misplaced."""
# Patterns of the letters that a text in Windows-1250 has after it was decoded as Windows-1252: one tuple each for
# Czech, Hungarian and Romanian. Hardly any text in another language has several letters of each pattern. For example,
# Italian has ì only at the end of words, Portuguese has õ only before e, and Estonian has á only in foreign names.
_CENTRAL_EUROPEAN = (("ø", r"ì\w"), ("õ(?!e)", "á", "ö"), ("ã(?![oes])", r"þ|\bî[imn]|(?<![\w.])º[a-z]"))
_JAPANESE = re.compile(rb"\x1b\$[@B]")
"""Escape sequence before Japanese letters in ISO-2022-JP. All bytes of this encoding are ASCII, so decoding such a text
as UTF-8 gives no error."""
# Windows-1254 has the Turkish letters Ğ, İ, Ş, ğ, ı and ş at the codes that these letters have in Windows-1252.
_ICELANDIC = re.compile("[ÐÝÞðýþ]")
_ICELANDIC_VOWELS = re.compile("[ÁÆÉÍÓÚáæéíóú]")
SAMPLE_BYTES = 4_000
_NOT_TEXT = "it is not text in UTF-8, UTF-16 or Windows-1252"


def encoding_of(beginning: bytes) -> str:
    """Detect the encoding of a file: UTF-16 or UTF-32 if it has a byte order mark or many zero bytes, else UTF-8."""
    for encoding, marks in _MARKS.items():
        if beginning.startswith(marks):
            return encoding
    sample = beginning[: SAMPLE_BYTES - SAMPLE_BYTES % 2]
    pairs = len(sample) // 2
    if pairs > 1 and sample[1::2].count(0) > 0.8 * pairs and not sample[::2].count(0):
        return "utf-16-le"
    if pairs > 1 and sample[::2].count(0) > 0.8 * pairs and not sample[1::2].count(0):
        return "utf-16-be"
    return "utf-8-sig"


def is_text(beginning: bytes) -> bool:
    """Whether a file begins with text in UTF-8. The last character may be incomplete."""
    try:
        return _CONTROL.search(codecs.getincrementaldecoder("utf-8")().decode(beginning)) is None
    except UnicodeDecodeError:
        return False


def text_of(data: bytes) -> tuple[str, str]:
    """Decode the data. Return the text and, if the encoding was guessed, the encoding with a reason.

    If the encoding was not guessed, the second result is empty. Raises ValueError if the data is not text.
    """
    encoding = encoding_of(data)
    if _JAPANESE.search(data):
        raise ValueError(f"{_NOT_TEXT}: it is text in ISO-2022-JP; save it as UTF-8")
    try:
        return data.decode(encoding).removeprefix("\ufeff"), ""
    except UnicodeDecodeError as exc:
        problem = exc
    text = data.decode("cp1252", errors="replace")
    has_other_letters = _has_misplaced_characters(text) or _is_of_other_script(text) or _is_central_european(text)
    is_of_other_encoding = "\ufffd" in text or has_other_letters
    if encoding != "utf-8-sig" or _CONTROL.search(text) or _is_mostly_utf_8(data) or is_of_other_encoding:
        raise ValueError(f"{_NOT_TEXT}: {problem}; save it as UTF-8")
    turkish = data.decode("cp1254", errors="replace")
    if _is_turkish(text) and "\ufffd" not in turkish:
        return turkish, "Windows-1254, because it is not UTF-8"
    return text, "Windows-1252, because it is not UTF-8"


def _is_turkish(text: str) -> bool:
    """Whether a text that was decoded as Windows-1252 is probably Turkish.

    In such a text, the Turkish letters have become ð, ý and þ. Otherwise only Icelandic and Faroese have these letters.
    A text in these two languages has accented vowels such as á, too, so a text without such vowels is probably Turkish.
    """
    letters = set(_ICELANDIC.findall(text))
    return (len(letters) > 1 or (bool(letters) and "ç" in text.lower())) and not _ICELANDIC_VOWELS.search(text)


def _is_mostly_utf_8(data: bytes) -> bool:
    """Whether the data is probably damaged UTF-8: it has more valid characters beyond ASCII than invalid bytes."""
    text = data.decode("utf-8", errors="surrogateescape")
    invalid = sum("\udc80" <= character <= "\udcff" for character in text)
    return sum(not character.isascii() for character in text) > 2 * invalid


def _has_misplaced_characters(text: str) -> bool:
    """Whether a text that was decoded as Windows-1252 has too many signs and capital letters within words."""
    marks = len(_MARK_OF_NOTE.findall(text))
    misplaced = len(_MISPLACED.findall(text)) + (marks if marks > 1 else 0)
    return misplaced > _MAX_MISPLACED * sum(not character.isascii() for character in text)


def _is_central_european(text: str) -> bool:
    """Whether a text that was decoded as Windows-1252 is probably Czech, Hungarian or Romanian in Windows-1250."""
    lower = text.lower()
    return any(all(len(re.findall(letter, lower)) > 1 for letter in letters) for letters in _CENTRAL_EUROPEAN)


def _is_of_other_script(text: str) -> bool:
    """Whether a text that was decoded as Windows-1252 is probably in an encoding of another script, such as GBK.

    Such a text has long runs of characters beyond ASCII. In languages that are written in Windows-1252, in contrast,
    most characters beyond ASCII are between ASCII letters. A run of only one or two different characters, such as
    dashes, does not count.
    """
    in_runs = sum(len(run) for run in _NOT_ASCII.findall(text) if len(set(run)) > 2)
    least = _IN_RUNS if len(re.findall("[A-Za-z]", text)) >= in_runs else _IN_RUNS_OF_SHORT_TEXT
    return in_runs >= least and in_runs > sum(not character.isascii() for character in text) / 2


def as_utf_8(stream: BinaryIO) -> BinaryIO:
    """Return the stream, converted to UTF-8 if its beginning shows that it is UTF-16 or UTF-32."""
    reader = cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, stream))) if not hasattr(stream, "peek") else stream
    beginning = cast(io.BufferedReader, reader).peek(SAMPLE_BYTES)[:SAMPLE_BYTES]
    encoding = encoding_of(beginning)
    if encoding == "utf-8-sig":
        return reader
    return cast(BinaryIO, io.BufferedReader(_to_utf_8(reader, encoding), io.DEFAULT_BUFFER_SIZE * 8))


def read_unicode(stream: BinaryIO, name: object) -> str:
    """Return the text of a stream in UTF-8, UTF-16 or UTF-32.

    Raises InvalidRequest, with the name of the stream, for other data.
    """
    data = as_utf_8(stream).read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise InvalidRequest(
            f"{name} must be text in UTF-8, found the byte 0x{data[exc.start]:02x} at position {exc.start:,}: "
            "convert it, as with iconv -f LATIN1 -t UTF-8"
        ) from exc


def _replace_by_surrogate(error: UnicodeError) -> tuple[str, int]:
    """Replace invalid input by a lone surrogate. This function is an error handler for `codecs`."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udcff", error.end


_INVALID = "mnemosyne.invalid"
codecs.register_error(_INVALID, _replace_by_surrogate)


class ReadStream(io.RawIOBase):
    """A stream whose bytes come from a function. The argument of the function is the maximum number of bytes."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        super().__init__()
        self._read = read

    def readable(self) -> bool:
        """Return true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with the next bytes, and return their number: 0 at the end."""
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _to_utf_8(stream: BinaryIO, encoding: str) -> ReadStream:
    """Convert a stream in another encoding to UTF-8.

    Input that is invalid in its encoding becomes invalid UTF-8. Therefore the reader of the converted stream refuses
    the record that contains it.
    """
    decoder = codecs.getincrementaldecoder(encoding)(errors=_INVALID)
    ready = io.BytesIO()

    def read(size: int) -> bytes:
        nonlocal ready
        while not (converted := ready.read(size)):
            data = stream.read(io.DEFAULT_BUFFER_SIZE)
            ready = io.BytesIO(decoder.decode(data, final=not data).encode(errors="surrogatepass"))
            if not data:
                return ready.read(size)
        return converted

    return ReadStream(read)
