"""Weights of the ranking in `mnemosyne.domain.ranking`."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Weights of the ranking. Decisions 0016, 0032, 0039, 0040, 0043, 0045 and 0046 in docs/decisions give the reasons.

    In this class, "context" means a bonus that a memory gets for its session. The bonus is a weighted sum of the scores
    of the memory's neighbours in the session and of the best score in the session. These scores are in [0, 1], so no
    score adds more than its weight to the bonus.
    """

    second_previous: float = 0.25
    """Fraction of a memory's score that is added to the score of the memory two places later in the session."""
    previous: float = 0.45
    """Fraction of a memory's score that is added to the score of the next memory in the session. The first of the two
    often contains the question that the second answers."""
    following: float = 0.1
    """Fraction of a memory's score that is added to the score of the memory directly before it in the session."""
    second_following: float = 0.05
    """Fraction of a memory's score that is added to the score of the memory two places earlier in the session."""
    session_best: float = 0.3
    """Fraction of the best score in the session that is added to a memory's score, because a session usually has one
    topic."""
    without_session: float = 0.1
    """A memory without a session gets this fraction of its own score as a bonus, if other candidates get a bonus for
    their neighbours. Without it, such a memory would rank below messages that match the query less."""
    long_content: float = 440
    """Maximum bytes of the content of a memory that gets its whole context (the bonus for neighbours). This is about 40
    words, not counting function words. A memory with a longer content gets only a share of its context (see
    `context_share`), because such a content is informative without context."""
    mean_context: float = 0.25
    """A long memory gets only a part of its own context. The rest is replaced by the mean context of all candidates,
    multiplied by this weight. With the weight 0, long memories would rank too low."""
    lexical_by_share: float = 2.5
    """How much the lexical weight depends on `best_share` (the share of the query's words that the best memories
    contain). The weight is multiplied by 1 + `lexical_by_share` * (`best_share` - `usual_share`). If no memory contains
    most of the query's words, the words are weak evidence."""
    usual_share: float = 0.35
    """Usual share of the query's words that the best memories contain (`best_share`). At this share, the embedder's
    `lexical_weight` is used unchanged."""
    lexical_change: float = 0.6
    """Largest fraction by which `lexical_by_share` can increase or reduce the lexical weight."""
    unique_words: float = 0.8
    """Minimum weight of the lexical score if one memory contains all words of the query, and no other memory contains
    any (see `Candidates.lead`). The query is then often an identifier, such as a hash, whose vector has little meaning.
    If other memories contain words of the query, too, the minimum is lower."""
    context_by_share: float = 1.0
    """How much the context (the bonus for neighbours) depends on `best_share` (the share of the query's words that the
    best memories contain). The context is multiplied by 1 - `context_by_share` * (`best_share` - `sufficient_share`),
    limited to 0 to 1. If a memory contains most of the query's words, its neighbours add little."""
    sufficient_share: float = 0.45
    """If `best_share` is at most this share, the context is not reduced (see `context_by_share`)."""
    context_by_lead: float = 2.0
    """The factor that multiplies the context of each memory is at most `context_by_lead` * (1 - `Candidates.lead`).
    Reason: if only one memory contains most words of the query, for example an identifier, `lead` is near 1, and no
    neighbour in the session must rank before this memory."""
    best_passage: float = 0.5
    """Fraction of a long memory's lexical score that comes from its best passage. The rest comes from the whole text. A
    long memory has several topics, so words of the query close to each other are better evidence than scattered
    words."""
    preferred_time: float = 0.2
    """Bonus for a memory from a time that the query names."""
    speaker: float = 0.2
    """Bonus for a memory whose content begins with a name from the query, followed by a colon."""
    redundancy: float = 1 / 9
    """Weight of the penalty for similarity. A candidate loses this fraction of its cosine to the nearest better
    candidate. The weight corresponds to λ = .9 in maximal marginal relevance."""

    @property
    def by_offset(self) -> Mapping[int, float]:
        """The weights of a memory's neighbours, by their offset in the session."""
        return {-2: self.second_previous, -1: self.previous, 1: self.following, 2: self.second_following}


DEFAULT_WEIGHTS = Weights()
