"""Derive a person's namespace and scopes from the identity provider's claims, by the operator's access rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from mnemosyne.domain.oauth import PeopleRule, Person, verified_email
from mnemosyne.errors import Unauthorized
from mnemosyne.observability import EventLog

log = EventLog(__name__)

SUBJECT_LENGTH = 190
"""Maximum characters of a subject. The namespace `user:SUBJECT` may have at most 200 characters."""


def person_of(claims: Mapping[str, Any], rules: Sequence[PeopleRule]) -> Person:
    """Apply the first matching access rule to the claims. Raises Unauthorized if no rule matches."""
    subject = str(claims.get("sub", ""))
    if not 1 <= len(subject) <= SUBJECT_LENGTH or not subject.isprintable():
        raise Unauthorized("the identity provider sent no valid subject")
    rule = next((rule for rule in rules if rule.matches(claims)), None)
    if rule is None:
        log.warning("audit", action="log_in", outcome="refused", subject=subject, reason="no rule admits this account")
        raise Unauthorized("this account may not use this memory: ask its operator for access")
    name = verified_email(claims) or str(claims.get("name") or subject)
    return Person(subject=subject, name=name[:200], namespace=rule.namespace or f"user:{subject}", scopes=rule.scopes)
