"""Documents of one to ten pages, and questions about them.

A document has the docstrings of one module, each in a section with a heading. A question asks for a fact in one
section in other words: with synonyms, and without names from the code.
"""

import random
import re
import sysconfig
from datetime import UTC, datetime, timedelta
from pathlib import Path

from infra.benchmarks.collection import Collection, Question
from infra.benchmarks.sets.passages import docstrings, files

START = datetime(2025, 1, 1, tzinfo=UTC)
DOCUMENTS = 400
WORDS = range(300, 5_001)
CHARACTERS = 60_000
"""Maximum length of a document, in addition to the limit on words, because long tables may have few words."""
QUESTIONS = 220
SYNONYMS = {
    "return": "give back", "returns": "gives back", "create": "make", "creates": "makes", "remove": "take away",
    "removes": "takes away", "file": "document", "list": "collection", "function": "routine", "value": "content",
    "error": "failure", "raise": "report", "raises": "reports", "string": "text", "check": "verify", "read": "load",
    "reads": "loads", "write": "store", "writes": "stores", "default": "standard", "parse": "interpret",
    "convert": "turn", "converts": "turns", "request": "call", "directory": "folder", "given": "supplied",
    "call": "invoke", "called": "invoked", "argument": "input", "arguments": "inputs", "match": "fit", "find": "locate",
    "add": "append", "start": "begin", "stop": "end", "wait": "pause", "connection": "link", "message": "notice",
}  # fmt: skip
ASKS = (
    "Which page explains this: {text}?",
    "I look for the part about: {text}",
    "Do our notes mention: {text}?",
)
STRANGERS = (
    "How do I prune the roots of a bonsai?", "Which glaze needs a reduction kiln?", "How long does sourdough ferment?",
    "What is the tuning of a baritone ukulele?", "How is a sailing boat reefed in strong wind?",
    "Which vaccine does a puppy get first?", "How do I descale an espresso machine?", "What is the offside rule?",
    "How many stitches does the sock pattern start with?", "When are tomatoes planted outside?",
    "Which saw cuts dovetail joints?", "How is a telescope collimated?", "What does a yellow card mean in handball?",
    "How do I graft an apple tree?", "Which knot holds a hammock?", "How is beeswax cleaned?",
    "What is the pension age in Portugal?", "Which ferry goes to Gotland?", "How do I whiten a ceiling?",
    "What is the best bait for pike?", "How is indigo dye reduced?", "Which wine goes with asparagus?",
    "How often does a hedgehog eat?", "What is the exchange rate of the Danish krone?", "How do I restring a violin?",
    "Which bus stops at the hospital?", "How high is the Zugspitze?", "Who painted the chapel's ceiling?",
    "How are truffles stored?", "When does the swimming pool open?", "Which tyre pressure has a tandem?",
    "How is felt made from wool?", "What did the dentist recommend?", "How many eggs are in the pancake recipe?",
    "Which muscles does rowing train?", "How is a kayak rolled upright?", "What was the name of grandmother's village?",
    "Which stamp is missing in the album?", "How do I sharpen a scythe?", "When is the parents' evening?",
)  # fmt: skip


def documents(seed: int = 1) -> Collection:
    """Generate the documents and the questions about them, for tuning the ranking."""
    rng = random.Random(seed)
    root = Path(sysconfig.get_path("purelib"))
    modules = [file for package in sorted(root.iterdir()) if package.is_dir() for file in files(package)]
    modules += sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    rng.shuffle(modules)
    documents: dict[str, dict[str, str]] = {}
    sections: list[tuple[str, str]] = []
    texts: set[str] = set()
    for file in modules:
        parts = list(docstrings(file))
        text = f"# {file.parent.name} {file.stem}\n\n" + "\n\n".join(f"## {name}\n\n{part}" for name, part in parts)
        text = text.replace("\0", "")  # PostgreSQL cannot store NUL
        # Leave out equal documents, because some packages contain a copy of another package.
        if len(text.split()) in WORDS and len(text) <= CHARACTERS and text not in texts:
            texts.add(text)
            name = f"d{len(documents)}"
            time = (START + timedelta(hours=5 * len(documents))).isoformat()
            documents[name] = {"id": name, "text": text, "timestamp": time}
            sections += [(name, part.split("\n\n")[0]) for _, part in parts]
        if len(documents) == DOCUMENTS:
            break
    questions = [
        Question(text, "fact in a section", frozenset([name])) for name, text in _question_texts(sections, rng)
    ]
    questions += [Question(text, "unknown subject", frozenset()) for text in STRANGERS]
    return Collection("documents", documents, questions)


def _question_texts(sections: list[tuple[str, str]], rng: random.Random) -> list[tuple[str, str]]:
    counted: dict[str, int] = {}
    for _, text in sections:
        counted[text] = counted.get(text, 0) + 1
    usable = [
        (name, text)
        for name, text in sections
        if counted[text] == 1 and 9 <= len(text.split()) <= 40 and text.isprintable()
    ]
    return [(name, rng.choice(ASKS).format(text=_reword(text))) for name, text in rng.sample(usable, QUESTIONS)]


def _reword(text: str) -> str:
    """Return the first twelve words of the text, reworded: in lower case, with synonyms and without names of code."""
    plain = re.sub(r"``?[^`]+``?|:\w+:|\b\w*[_.]\w+\b|[^\w\s'-]", " ", text)
    words = [SYNONYMS.get(word.lower(), word.lower()) for word in plain.split()]
    return " ".join(words[:12])
