"""Text on one line: ordinary text is unchanged, invisible characters are removed."""

import time
import unicodedata

import pytest

from mnemosyne.domain.client_name import NAMELESS, client_name
from mnemosyne.domain.memory_input import MemoryInput
from mnemosyne.domain.parsing import parse
from mnemosyne.domain.visible import escape, first_invisible, one_line
from mnemosyne.errors import InvalidRequest

ZWJ, ZWNJ = "\u200d", "\u200c"
WRITTEN = [
    "Plain ASCII, with: punctuation (and) [brackets] {too} & <signs> #1 @ 50% ~ $5",
    "Größe, naïve café, Łódź, Ærø",
    "Cafe\u0301 with a combining accent",
    "Tiếng Việt: Nguyễn Thị Minh Khai",
    "Ελληνικά: Καλημέρα κόσμε",
    "Ἐν ἀρχῇ ἦν ὁ λόγος",
    "Русский: Привет, мир — «ёлка» №5",
    "Українська: їжак ґанок",
    "Հայերեն բարև",
    "ქართული ენა",
    "עברית: שָׁלוֹם עֲלֵיכֶם",
    "العربية: مرحبًا بالعالم ١٢٣",
    "فارسی: می\u200cخواهم کتاب\u200cها را بخوانم",
    "۱۴۰۲ ه\u200d.ش",
    "اردو: پاکستان\u200cی",
    "\u0600١٢٣ and \u06dd١",
    "हिन्दी: क्षत्रिय नमस्ते",
    "हिन्दी: क्\u200dष and क्\u200cष",
    "मराठी: वाऱ\u094d\u200dया",
    "বাংলা: র\u200d\u09cdযাব and কৎ",
    "தமிழ்: ஸ்ரீ வணக்கம்",
    "తెలుగు: నమస్కారం లక్ష్\u200cమి",
    "ಕನ್ನಡ: ರ\u200d\u0ccdಯ",
    "മലയാളം: അവന\u0d4d\u200d",
    "සිංහල: ශ\u0dca\u200dරී ලංකා",
    "ไทย: สวัสดีชาวโลก",
    "ລາວ: ສະບາຍດີ",
    "ខ្មែរ: សួស្តី",
    "မြန်မာ: မင်္ဂလာပါ",
    "བོད་ཡིག: བཀྲ་ཤིས་བདེ་ལེགས།",
    "አማርኛ: ሰላም",
    "中文：你好，世界！　全角",
    "日本語：こんにちは、カタカナー",
    "葛\U000e0100城 and 辻\U000e0101",
    "한국어: 안녕하세요",
    "ᠮᠣᠩᠭᠣᠯ\u180e᠎".rstrip("\u180e"),
    "ߒߞߏ ߛߓߍ",
    "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ",
    "👍🏽 😀 🎉 🇩🇪",
    "👨\u200d👩\u200d👧\u200d👦 family",
    "❤\ufe0f\u200d🔥 ☕\ufe0e",
    "🏳\ufe0f\u200d🌈 and 👩🏽\u200d💻",
    "1\ufe0f\u20e3 #\ufe0f\u20e3 ©\ufe0f ™\ufe0f ‼\ufe0f",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f England",
    "∑ x² ≤ √2 ∩\ufe00 ± ∞ → ⇒ 𝔸 𝑥",
    "a\u00a0b\u202fc\u2009d",
    "½ kg · 20 °C · 5 µm · € ¥ ₿",
    "music ♪ 𝄞",
    "⠓⠑⠇⠇⠕",
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


def _scripts() -> set[str]:
    return {
        unicodedata.name(character, "").split(" ")[0] for text in WRITTEN for character in text if character.isalpha()
    }


def test_the_test_tables_cover_many_scripts() -> None:
    assert len(WRITTEN) >= 40 and len(HIDDEN) >= 40
    assert len(_scripts()) >= 25


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


@pytest.mark.parametrize(
    "part",
    [
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "\U000e0067",
        f"👩{ZWJ}",
        f"{ZWJ}👩",
        f"\ufe0f{ZWJ}",
        f"\u0301{ZWNJ}",
        "\u0301",
    ],
)
def test_the_time_for_a_long_text_does_not_grow_with_the_square_of_its_length(part: str) -> None:
    text = f"{part * (100_000 // len(part))}{ZWJ}👩"
    before = time.thread_time()
    assert len(one_line(text)) <= len(text)
    assert time.thread_time() - before < 5.0


@pytest.mark.parametrize("field", ["session", "source", "key"])
@pytest.mark.parametrize("character", ["\x1b", "\u202e", "\u200b", "\u3164", "\u115f", "\u2800", "\u034f", "\ufe01"])
def test_a_name_with_a_hidden_character_is_refused_with_its_place(field: str, character: str) -> None:
    data = {"content": "tea", "timestamp": "2026-05-01T00:00:00Z", "source": "s", "key": "k"} | {
        field: f"a{character}b"
    }
    error = rf"{field} must contain visible .* U\+{ord(character):04X} at character 1"
    with pytest.raises(InvalidRequest, match=error):
        parse(MemoryInput, data)


@pytest.mark.parametrize(
    "name",
    [
        "Claude", "Claude Code", "VS Code", "ChatGPT 5", "Яндекс Browser", "Умный помощник", "Ассистент", "Βοηθός",
        "智能助手 AI", "日本語アシスタント", "도우미 AI", "مساعد", "עוזר", "सहायक", "n8n", "Café Über",
        "L'Assistant — v2", "🤖 Robot", "C++ & C#", "a-b_c.d",
    ],
)  # fmt: skip
def test_an_ordinary_client_name_is_shown_unchanged(name: str) -> None:
    assert client_name(name) == name
    assert client_name(client_name(name)) == name


@pytest.mark.parametrize(
    "name",
    [
        "Clаude", "Сlaude", "ChаtGPT", "Cursоr", "VЅ Code", "Gооgle", "Ρaypal", "Goοgle", "Clauԁe", "ᴄʟᴀᴜᴅᴇ", "Ꭺpple",
        "ϲlaude", "Αnthropic", "ОpenAI", "սber",
    ],
)  # fmt: skip
def test_a_name_that_mixes_scripts_in_a_word_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="client_name must not"):
        client_name(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Сосо", "Сосо (in Cyrillic letters)"),
        ("АРР Store", "АРР Store (in Cyrillic letters)"),
        ("ΤΟΡ", "ΤΟΡ (in Greek letters)"),
        ("ᎪᏢᏢ", "ᎪᏢᏢ (in Cherokee letters)"),
        ("ＣＬＡＵＤＥ", "CLAUDE"),
        ("𝐂𝐥𝐚𝐮𝐝𝐞", "Claude"),
        ("Ⓒⓛⓐⓤⓓⓔ", "Claude"),
        ("Cla\u200bu\u00adde\u3164", "Claude"),
        ("\u202eedualC", "edualC"),
        ("\u3164\u2800", NAMELESS),
        (None, NAMELESS),
        (7, NAMELESS),
    ],
)
def test_a_client_name_of_look_alike_letters_is_shown_with_its_script_or_in_plain_letters(
    name: object, expected: str
) -> None:
    assert client_name(name) == expected
    assert client_name(expected) == expected
