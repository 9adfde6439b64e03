"""Text on one line: ordinary text is unchanged, invisible characters are removed."""

import time

import pytest

from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.parsing import parse
from mnemosyne.domain.visible import escape, first_invisible, one_line
from mnemosyne.errors import InvalidRequest

ZWJ, ZWNJ = "\u200d", "\u200c"
WRITTEN = [
    "Plain ASCII, with: punctuation (and) [brackets] {too} & <signs> #1 @ 50% ~ $5",
    "Größe, naïve café, Łódź, Ærø",
    "Cafe\u0301 with a combining accent",
    "ἀρχῇ Привіт Հայերեն ქართული ไทย ລາວ ខ្មែរ မြန်မာ བོད་ཡིག አማርኛ 한국어 ᏣᎳᎩ தமிழ் ⠓⠑⠇⠇⠕",
    "עברית: שָׁלוֹם עֲלֵיכֶם",
    "العربية: مرحبًا بالعالم ١٢٣",
    "فارسی: می\u200cخواهم کتاب\u200cها را بخوانم",
    "۱۴۰۲ ه\u200d.ش",
    "\u0600١٢٣ and \u06dd١",
    "हिन्दी: क्\u200dष and क्\u200cष",
    "বাংলা: র\u200d\u09cdযাব and কৎ",
    "中文：你好，世界！　全角",
    "葛\U000e0100城 and 辻\U000e0101",
    "ᠮᠣᠩᠭᠣᠯ\u180e᠎".rstrip("\u180e"),
    "ߒߞߏ ߛߓߍ",
    "👍🏽 😀 🎉 🇩🇪",
    "👨\u200d👩\u200d👧\u200d👦 family",
    "❤\ufe0f\u200d🔥 ☕\ufe0e",
    "🏳\ufe0f\u200d🌈 and 👩🏽\u200d💻",
    "1\ufe0f\u20e3 #\ufe0f\u20e3 ©\ufe0f ™\ufe0f ‼\ufe0f",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f England",
    "∑ x² ≤ √2 ∩\ufe00 ± ∞ → ⇒ 𝔸 𝑥",
    "a\u00a0b\u202fc\u2009d",
    "𓀀𓁐 hieroglyphs",
]
HIDDEN = [
    *(
        "\x00\x07\x1b\x7f\x9b\x09\x0a\x0d\u2028\u2029\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180e"
        "\u200b\u200c\u200d\u200e\u200f\u202a\u202e\u2060\u2062\u2066\u2069\u206a\u206f\u2800\u3164\ufe00"
        "\ufe0e\ufe0f\ufeff\uffa0\ufff0\ufff9\ufffb\U0001bca0\U0001d159\U0001d173\U000e0001\U000e0041"
        "\U000e007f\U000e0100\U000e01ef\ue000\U000f0000\ufdd0\U0001ffff\u0378"
    ),
    "\x1b[31m",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert (one_line(text), escape(text), first_invisible(text)) == (text, text, "")


@pytest.mark.parametrize("character", HIDDEN)
def test_an_invisible_character_is_removed_from_a_line_or_escaped(character: str) -> None:
    text = f"tea{character}pot"
    assert one_line(text) in ("teapot", "tea pot", "tea[31mpot", "tea [31mpot")
    assert first_invisible(text) == f"U+{ord(character[0]):04X} at character 3"
    assert f"<U+{ord(character[0]):04X}>" in escape(text)


@pytest.mark.parametrize(
    "text",
    [
        f"a{ZWJ}b", f"tea{ZWNJ}pot", f"می{ZWNJ}{ZWNJ}خواهم", f"{ZWJ}a", "a\ufe0f", "字\ufe0f", "字\U000e0100\U000e0100",
        "ก\u200bข", "😀\ufe0f\ufe0f", f"😀{ZWJ}a", "🏴\U000e0067\U000e007f",
        "\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "1\ufe0f", "∑\ufe01", "a\u180b", f"й{ZWJ}",
        "क\u200d",
    ],
)  # fmt: skip
def test_a_joiner_or_selector_without_effect_is_left_out(text: str) -> None:
    assert first_invisible(text)
    assert not first_invisible(one_line(text)) or one_line(one_line(text)) != text


@pytest.mark.parametrize("part", ["\U000e0067", f"👩{ZWJ}", f"\ufe0f{ZWJ}", f"\u0301{ZWNJ}"])
def test_the_time_for_a_long_text_does_not_grow_with_the_square_of_its_length(part: str) -> None:
    text = f"{part * (60_000 // len(part))}{ZWJ}👩"
    before = time.thread_time()
    assert len(one_line(text)) <= len(text)
    assert time.thread_time() - before < 5.0


@pytest.mark.parametrize("field", ["session", "source", "key"])
def test_a_name_with_a_hidden_character_is_refused_with_its_place(field: str) -> None:
    data = {"content": "tea", "timestamp": "2026-05-01T00:00:00Z", "source": "s", "key": "k", field: "a\u202eb"}
    with pytest.raises(InvalidRequest, match=rf"{field} must contain visible .* U\+202E at character 1"):
        parse(MemoryInput, data)
