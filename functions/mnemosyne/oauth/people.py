"""From the claims of an identity provider to a person, their namespace and what they may do."""

from collections.abc import Mapping, Sequence
from typing import Any

from mnemosyne.domain.oauth import PeopleRule, Person, verified_email
from mnemosyne.errors import Unauthorized
from mnemosyne.observability import EventLog

log = EventLog(__name__)

SUBJECT_LENGTH = 190
"""Characters: with `user:` before it a subject names a namespace, of 200 at most."""


def person_of(claims: Mapping[str, Any], rules: Sequence[PeopleRule]) -> Person:
    """Return who the claims are of, by the first rule that fits; raises Unauthorized where none does."""
    subject = str(claims.get("sub", ""))
    if not 1 <= len(subject) <= SUBJECT_LENGTH or not subject.isprintable():
        raise Unauthorized("the identity provider names nobody")
    rule = next((one for one in rules if one.fits(claims)), None)
    if rule is None:
        log.warning("audit", action="log_in", outcome="refused", subject=subject)
        raise Unauthorized("this account may not use this memory: its operator says who may")
    name = verified_email(claims) or str(claims.get("name") or subject)
    return Person(
        subject=subject,
        name=name[:200],
        namespace=rule.namespace or f"user:{subject}",
        scopes=rule.scopes,
    )
