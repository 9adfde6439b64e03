"""Check the attributes of a message against Pub/Sub's limits. Pure."""

from collections.abc import Mapping

from mnemosyne.errors import InvalidRequest

COUNT_LIMIT = 100
NAME_BYTES = 256
VALUE_BYTES = 1024
"""https://cloud.google.com/pubsub/quotas#resource_limits."""


def check_attributes(attributes: Mapping[str, str]) -> None:
    """Raise InvalidRequest with the names of attributes that Pub/Sub would reject."""
    if len(attributes) > COUNT_LIMIT:
        raise InvalidRequest(f"a message must have at most {COUNT_LIMIT} attributes, got {len(attributes)}")
    problems = [problem for name, value in sorted(attributes.items()) if (problem := _attribute_problem(name, value))]
    if problems:
        raise InvalidRequest("; ".join(problems[:10]))


def _attribute_problem(name: str, value: str) -> str:
    excerpt = repr(name if len(name) <= 60 else f"{name[:60]}…")
    if not name:
        return "an attribute must have a name"
    if name.startswith("goog"):
        return f"the attribute {excerpt} begins with goog, which is reserved"
    if (size := len(name.encode(errors="surrogatepass"))) > NAME_BYTES:
        return f"the name of the attribute {excerpt} must have at most {NAME_BYTES} bytes, got {size:,}"
    if (size := len(value.encode(errors="surrogatepass"))) > VALUE_BYTES:
        return f"the attribute {excerpt} must have at most {VALUE_BYTES:,} bytes, got {size:,}"
    return ""
