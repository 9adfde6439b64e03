"""Names in messages: namespaces, sources and keys, which a message can give as texts or numbers. Pure."""

from mnemosyne.domain.text_checks import excerpt, marks_problem, surrogate_problem
from mnemosyne.domain.visible import first_invisible

NAMESPACE_CHARACTERS = 200
"""Maximum characters of a namespace. The namespaces in credentials have the same limit."""


def namespace_problem(name: object, namespace: str) -> str:
    """Return an error if the message names another namespace than `namespace`; else an empty string."""
    return "" if namespace_name(name) == namespace else f"namespace must be {excerpt(namespace)}, got {excerpt(name)}"


def namespace_name(value: object) -> str:
    """Return the namespace that a message names; empty if it is invalid.

    A namespace is one line of visible characters without white space at its ends. Without this rule, an attribute with
    a line break at its end would select another namespace, which no credential can read.
    """
    name = storable_name(value, characters=NAMESPACE_CHARACTERS)
    return "" if name != name.strip() or first_invisible(name) else name


def storable_name(value: object, *, characters: int) -> str:
    """Return a text or whole number as text; empty if it is blank, too long or cannot be stored."""
    text = value
    if isinstance(value, float):  # above 2**53, a float may differ from the number in the JSON text
        text = str(int(value)) if abs(value) <= 2**53 and value.is_integer() else ""
    elif isinstance(value, int) and not isinstance(value, bool):
        text = str(value) if -(2**63) <= value < 2**64 else ""
    if not isinstance(text, str) or not text.strip() or len(text) > characters:
        return ""
    return "" if "\x00" in text or surrogate_problem(text) or marks_problem(text) else text
