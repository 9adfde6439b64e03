"""Plain BM25, the baseline of the retrieval benchmark.

Robertson, Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond", with k1 = 1.5 and b = 0.75, and the
inverse document frequency of Lucene, which is never negative. Words are converted to lower case. They are not stemmed,
and stop words are not removed.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping

K1, B = 1.5, 0.75
_WORD = re.compile(r"\w+")


class BM25:
    """A BM25 index of documents. Each document has a name."""

    def __init__(self, documents: Mapping[str, str]) -> None:
        counts = {name: Counter(_WORD.findall(text.lower())) for name, text in documents.items()}
        mean = sum(map(Counter.total, counts.values())) / max(1, len(counts))
        self._weights: dict[str, dict[str, float]] = defaultdict(dict)
        for name, words in counts.items():
            norm = K1 * (1 - B + B * words.total() / mean)
            for word, count in words.items():
                self._weights[word][name] = count * (K1 + 1) / (count + norm)
        self._documents = len(counts)

    def search(self, question: str) -> list[str]:
        """Return the names of the ten documents with the highest scores, best first.

        A document that contains no word of the question is left out.
        """
        scores: dict[str, float] = defaultdict(float)
        for word in set(_WORD.findall(question.lower())):
            weights = self._weights.get(word, {})
            rarity = math.log(1 + (self._documents - len(weights) + 0.5) / (len(weights) + 0.5))
            for name, weight in weights.items():
                scores[name] += rarity * weight
        return sorted(scores, key=lambda name: (-scores[name], name))[:10]
