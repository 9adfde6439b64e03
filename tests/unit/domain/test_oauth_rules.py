"""Access rules of people: which claims of an ID token a rule matches."""

from typing import Any

import pytest

from mnemosyne.domain.oauth import PeopleRule


@pytest.mark.parametrize(
    ("who", "claims"),
    [
        ("groups:memory", {"groups": ["other", "memory"]}),
        ("groups:memory", {"groups": "memory"}),
        ("tid:42", {"tid": 42}),
        ("cognito:groups:memory", {"cognito:groups": ["memory"]}),
        ("https://example.com/roles:memory", {"https://example.com/roles": ["memory"]}),
        ("roles:urn:example:memory", {"roles": ["urn:example:memory"]}),
        ("upn:ada@example.com", {"upn": "ada@example.com"}),
        ("email:ada@example.com", {"email": "ada@example.com", "email_verified": True}),
        ("groups:Data Science", {"groups": ["Data Science"]}),
        ("memory_user:true", {"memory_user": True}),
        ("memory_user:True", {"memory_user": True}),
    ],
)
def test_a_rule_matches_the_value_of_a_claim(who: str, claims: dict[str, Any]) -> None:
    assert PeopleRule.of({"who": who}).matches(claims)


@pytest.mark.parametrize(
    ("who", "claims"),
    [
        ("groups:memory", {"groups": ["memory-readers"]}),
        ("groups:Data Science", {"groups": ["Data", "Science"]}),
        ("groups:memory", {"groups": None, "group": "memory"}),
        ("groups:None", {"groups": None}),
        ("memory_user:true", {"memory_user": False}),
        ("memory_user:1", {"memory_user": True}),
        ("upn:ada@example.com", {"email": "ada@example.com", "email_verified": True}),
        ("upn:ada@example.com", {"email": "upn:ada@example.com", "email_verified": False}),
        ("email:ada@example.com", {"email": "ada@example.com", "email_verified": False}),
        ("email:ada@example.com", {"email": "ada@example.com"}),
        ("ada@example.com", {"ada": "ada@example.com", "email": "ada@example.com"}),
        ("@example.com", {"email": "eve@notexample.com", "email_verified": True}),
        ("@example.com", {"email": "eve@evil.example@example.com", "email_verified": True}),
        ("@example.com", {"email": "eve@example.com", "email_verified": False}),
    ],
)
def test_a_rule_matches_no_other_claim_or_value(who: str, claims: dict[str, Any]) -> None:
    assert not PeopleRule.of({"who": who}).matches(claims)


@pytest.mark.parametrize(
    "who", ["", "memory", "groups:", "groups: ", "groups: memory", "groups:memory ", "data groups:m"]
)
def test_a_rule_without_an_address_or_a_claim_with_its_value_is_refused(who: str) -> None:
    with pytest.raises(ValueError, match="who must be an address, @domain, claim:value or"):
        PeopleRule.of({"who": who})
