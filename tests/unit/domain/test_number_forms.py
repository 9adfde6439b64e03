"""The hint `may_replace` compares numbers by value, not by the way they are written."""

import pytest

from mnemosyne.domain.changed_facts import replaced_ids


def _is_hinted(later: str, earlier: str) -> bool:
    return replaced_ids(later, [("earlier", earlier)]) == ["earlier"]


@pytest.mark.parametrize(("earlier", "later"), [
    ("The port is 80.", "The port is ٨٠."),
    ("The port is ８０.", "The port is 80."),
    ("The rent is 1 000 €.", "The rent is 1000 €."),
    ("The rent is 1\u202f000 €.", "The rent is 1000 €."),
    ("The rent is 1'000 CHF.", "The rent is 1000 CHF."),
    ("The rent is 1’000 CHF.", "The rent is 1000 CHF."),
    ("The rent is $1,000.", "The rent is $1000."),
    ("The rent is 1,234,567.50 euros.", "The rent is 1234567.50 euros."),
    ("Die Miete beträgt 1.000 Euro.", "Die Miete beträgt 1000 Euro."),
    ("Die Miete beträgt 1.000,00 €.", "Die Miete beträgt 1000 EUR."),
    ("The price is 5.00 €.", "The price is €5."),
    ("Le prix est de 2,5 €.", "Le prix est de 2.5 euros."),
    ("The discount is 50%.", "The discount is 50 percent."),
    ("Der Rabatt beträgt 50%.", "Der Rabatt beträgt 50 Prozent."),
    ("La remise est de 50 %.", "La remise est de 50 pour cent."),
    ("El descuento es del 50%.", "El descuento es del 50 por ciento."),
    ("Lo sconto è del 50%.", "Lo sconto è del 50 per cento."),
    ("De korting is 50%.", "De korting is 50 procent."),
    ("Bob's number is +49 30 1234.", "Bob's number is +49301234."),
    ("Bob's number is +49 (30) 12-34.", "Bob's number is +49 30 1234."),
    ("Bob's number is 030 4421.", "Bob's number is 0304421."),
    ("The meeting is at 09:00.", "The meeting is at 9."),
    ("The meeting is at 09:30.", "The meeting is at 9:30."),
])  # fmt: skip
def test_another_form_of_the_same_number_gives_no_hint(earlier: str, later: str) -> None:
    assert not _is_hinted(later, earlier)
    assert not _is_hinted(earlier, later)


@pytest.mark.parametrize(("earlier", "later"), [
    ("The port is ٨٠.", "The port is ٨١."),
    ("The rent is 1'000 CHF.", "The rent is 1'001 CHF."),
    ("The price is 5 €.", "The price is 50 €."),
    ("The discount is 50%.", "The discount is 60 percent."),
    ("Bob's number is +49 30 1234.", "Bob's number is +49 30 1235."),
    ("The server runs on version 3.1.", "The server now runs on version 3.10."),
    ("The code is 0417.", "The code is 417."),
    ("The server is on 10.0.0.1.", "The server is now on 10.0.0.2."),
])  # fmt: skip
def test_another_number_gives_a_hint_in_each_form(earlier: str, later: str) -> None:
    assert _is_hinted(later, earlier)
