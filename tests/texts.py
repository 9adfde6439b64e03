"""Long texts in many scripts and formats, for tests of properties that every text has.

There are at least three texts of each script and format.
"""

import base64
import json
import string
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
Shape = Callable[[Random, int], str]

# The Universal Declaration of Human Rights, article 1.
_ENGLISH = (
    "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and "
    "should act towards one another in a spirit of brotherhood."
)
_KOREAN = (
    "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 "
    "서로 형제애의 정신으로 행동하여야 한다."
)
_JAPANESE = (
    "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"
    "人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。"
)
_CHINESE = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。"
_ARABIC = (
    "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلًا وضميرًا وعليهم أن يعامل بعضهم بعضًا بروح الإخاء."
)
_THAI = "มนุษย์ทั้งปวงเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ"
_HINDI = (
    "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है "
    "और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।"
)
_RUSSIAN = (
    "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны "
    "поступать в отношении друг друга в духе братства."
)
_VIETNAMESE = (
    "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền. Mọi con người đều được tạo hóa ban "
    "cho lý trí và lương tâm và cần phải đối xử với nhau trong tình bằng hữu."
)
_EMOJI = "😀😂🥰👍🎉🚀❤️🔥✨🙏👩‍👩‍👧‍👦🏳️‍🌈👩🏽‍💻🇰🇷🇩🇪🫠🪿🩷"


def _repeated(passage: str) -> Shape:
    return lambda _, length: (f"{passage} " * (length // len(passage) + 1))[:length]


def _shuffled(passage: str) -> Shape:
    """Return the words of the passage in random order, or its characters if the script has no spaces."""

    def generate(random: Random, length: int) -> str:
        words = passage.split() if passage.count(" ") > 3 else list(passage)
        return (" " if passage.count(" ") > 3 else "").join(random.choices(words, k=length))[:length]

    return generate


def _characters(*ranges: tuple[int, int], space: float = 0.0) -> Shape:
    """Return random characters of these Unicode blocks, each with the same probability."""
    block = [chr(code) for first, last in ranges for code in range(first, last + 1)]

    def generate(random: Random, length: int) -> str:
        characters = random.choices(block, k=length)
        if space:
            characters = [" " if random.random() < space else character for character in characters]
        return "".join(characters)

    return generate


def _of(alphabet: str, space: float = 0.0) -> Shape:
    return _characters(*((ord(letter), ord(letter)) for letter in alphabet), space=space)


def _encoded(encode: Callable[[bytes], str], line: int = 0) -> Shape:
    def generate(random: Random, length: int) -> str:
        text = encode(random.randbytes(length))[:length]
        return "\n".join(text[at : at + line] for at in range(0, length, line)) if line else text

    return generate


def _lines(line: Callable[[Random], str], end: str = "\n") -> Shape:
    def generate(random: Random, length: int) -> str:
        text = ""
        while len(text) < length:
            text += line(random) + end
        return text[:length]

    return generate


def _log(random: Random) -> str:
    return json.dumps(
        {
            "timestamp": (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=random.random() * 3e7)).isoformat(),
            "severity": random.choice(["INFO", "WARNING", "ERROR"]),
            "trace": random.randbytes(16).hex(),
            "httpRequest": {"status": random.randint(200, 599), "latency": f"{random.random():.6f}s"},
            "message": "request completed",
        }
    )


def _metrics(random: Random) -> str:
    return ",".join(f'"k{random.randint(0, 99)}":{random.random() * 1e6:.3f}' for _ in range(20))


def _nested(random: Random) -> str:
    return json.dumps({"ids": [str(_uuid(random)) for _ in range(3)], "a": {"b": {"c": [[1, 2], [3]]}}}, indent=4)


def _uuid(random: Random) -> uuid.UUID:
    return uuid.UUID(bytes=random.randbytes(16))


def _file(path: str) -> Shape:
    text = (ROOT / path).read_text()
    return lambda _, length: (text * (length // len(text) + 1))[:length]


def _language(passage: str, *blocks: tuple[int, int]) -> list[Shape]:
    return [_repeated(passage), _shuffled(passage), _characters(*blocks), _characters(*blocks, space=0.2)]


def _mixed(random: Random, length: int) -> str:
    parts = [_ENGLISH, _KOREAN, _JAPANESE, _CHINESE, _ARABIC, _THAI, _HINDI, _RUSSIAN, _EMOJI]
    text = ""
    while len(text) < length:
        text += random.choice([random.choice(parts), _log(random), str(_uuid(random)), "\n\n\t", "𒀀𒀁 "])
    return text[:length]


TEXTS: Mapping[str, list[Shape]] = {
    "English": [_repeated(_ENGLISH), _shuffled(_ENGLISH), _file("LICENSE"), _file("docs/reference/search.md")],
    "letters": [_of(string.ascii_lowercase, 0.2), _of(string.ascii_uppercase, 0.2), _of(string.ascii_letters)],
    "Korean": _language(_KOREAN, (0xAC00, 0xD7A3)),
    "Japanese": _language(_JAPANESE, (0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x9FFF)),
    "Chinese": _language(_CHINESE, (0x4E00, 0x9FFF)),
    "Arabic": _language(_ARABIC, (0x0620, 0x06FF)),
    "Thai": _language(_THAI, (0x0E01, 0x0E3A), (0x0E40, 0x0E5B)),
    "Hindi": _language(_HINDI, (0x0900, 0x097F)),
    "Russian": _language(_RUSSIAN, (0x0410, 0x044F)),
    "Vietnamese": _language(_VIETNAMESE, (0x1EA0, 0x1EF9)),
    "emoji": [_shuffled(_EMOJI), _characters((0x1F300, 0x1F64F)), _characters((0x1F900, 0x1FAFF), space=0.3)],
    "combining marks": [
        _characters((0x0300, 0x036F)),
        _lines(lambda random: "".join(letter + chr(random.randint(0x300, 0x36F)) * 5 for letter in "Zalgo comes"), " "),
        _lines(lambda random: random.choice("aeiou") + chr(random.randint(0x1AB0, 0x1ABE)), ""),
    ],
    "base64": [
        _encoded(lambda data: base64.b64encode(data).decode()),
        _encoded(lambda data: base64.urlsafe_b64encode(data).decode()),
        _encoded(lambda data: base64.b64encode(data).decode(), line=76),
    ],
    "JSON": [_lines(_log), _lines(_metrics, ""), _lines(_nested)],
    "hex": [
        _encoded(bytes.hex),
        _encoded(lambda data: data.hex().upper()),
        _encoded(lambda data: data.hex(" ", 2)),
        _encoded(lambda data: data.hex(":")),
    ],
    "digits": [_of(string.digits), _of(string.digits, 0.3), _lines(lambda random: f"{random.random() * 1e9:.6f}", ";")],
    "UUIDs": [
        _lines(lambda random: str(_uuid(random))),
        _lines(lambda random: str(_uuid(random)).upper(), ", "),
        _lines(lambda random: _uuid(random).urn, ""),
    ],
    "code": [
        _file("functions/mnemosyne/service/ingest.py"),
        _file("functions/mnemosyne/db/migrations/0001_baseline.sql"),
        _lines(lambda random: f"const x{random.randint(0, 99)}=(a,b)=>{{return a[b]??{random.random():.3f}}};", ""),
    ],
    "white space": [
        lambda _, length: "end" + " " * (length - 6) + "end",
        _lines(lambda random: " " * random.randint(1, 60) + "x\t\t", "\r\n"),
        _of(" \t\n\u00a0\u3000\u2003."),
    ],
    "mixed": [_mixed, _characters((0x20, 0x7E), (0xA1, 0x24F), (0x400, 0x45F)), _characters((0x20, 0xD7FF))],
    "rare scripts": [
        _characters((0x12000, 0x12399)),  # cuneiform
        _characters((0x20000, 0x2A6DF)),  # CJK extension B
        _characters((0x13A0, 0x13F5), (0x1200, 0x135A), (0x0F00, 0x0F47), space=0.1),  # Cherokee, Ethiopic, Tibetan
        _characters((0x1D400, 0x1D7FF), (0xE000, 0xE0FF), (0x0, 0x1F)),  # mathematical, private use, control
    ],
}

SHAPES = [(kind, number, shape) for kind, shapes in TEXTS.items() for number, shape in enumerate(shapes)]
