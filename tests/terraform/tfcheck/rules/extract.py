"""Facts about plans, read out of the Go source of terraform-provider-google.

For every resource type in TYPES, this reads the schema literal in the provider's source
(https://github.com/hashicorp/terraform-provider-google, licensed MPL-2.0; a bare clone is enough, nothing is built or
run) and writes the properties that decide a plan: which attribute forces replacement, which ones conflict
or belong together, and which differences are suppressed. Paths are dotted, without list indices. Groups of attributes,
at least or exactly one of them required, are in the type's "groups"; groups in a block apply if the block is set.

"customize_diff" and "normalises" are written by hand after reading the Go functions, and "refusals" after reading the
documentation of the API: this script keeps those it finds in the file it overwrites.

    python extract.py REPOSITORY OUTPUT TAG
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

Facts = dict[str, Any]

IAM = "google/tpgiamresource/resource_iam_member.go"
FOLDERS = {
    "artifactregistry": "artifact_registry_repository artifact_registry_repository_iam_member",
    "billingbudgets": "billing_budget",
    "cloudfunctions2": "cloudfunctions2_function",
    "cloudrunv2": "cloud_run_v2_job cloud_run_v2_service_iam_member",
    "compute": "compute_address compute_backend_service compute_forwarding_rule compute_global_address "
    "compute_global_forwarding_rule compute_managed_ssl_certificate compute_network "
    "compute_region_network_endpoint_group compute_security_policy "
    "compute_subnetwork compute_target_https_proxy compute_url_map",
    "dns": "dns_managed_zone dns_record_set",
    "iap": "iap_web_backend_service_iam_member",
    "kms": "kms_crypto_key kms_crypto_key_iam_member kms_key_ring",
    "logging": "logging_metric",
    "monitoring": "monitoring_alert_policy monitoring_dashboard monitoring_notification_channel "
    "monitoring_uptime_check_config",
    "pubsub": "pubsub_subscription pubsub_subscription_iam_member pubsub_topic pubsub_topic_iam_member",
    "resourcemanager": "project_iam_member project_service project_service_identity service_account "
    "service_account_iam_member",
    "secretmanager": "secret_manager_secret secret_manager_secret_iam_member secret_manager_secret_version",
    "servicenetworking": "service_networking_connection",
    "sql": "sql_database sql_database_instance sql_user",
    "storage": "storage_bucket storage_bucket_iam_member storage_bucket_object",
    "workflows": "workflows_workflow",
}
TYPES = {f"google_{name}": folder for folder, names in FOLDERS.items() for name in names.split()}
TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|`[^`]*`|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])+'|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|\d[\w.]*|\S",
    re.DOTALL,
)
OPENING = {"(": ")", "[": "]", "{": "}"}
LISTS = {"ConflictsWith": "conflicts_with", "RequiredWith": "required_with"}
BY_HAND = ("customize_diff", "normalises", "refusals")
GROUPS = {"ExactlyOneOf": "exactly_one_of", "AtLeastOneOf": "at_least_one_of"}


@dataclass
class Node:
    """A Go expression. If it is a composite literal: the tokens before its brace, and its items."""

    head: list[str]
    items: list[tuple[str, Node]] | None = None

    @property
    def text(self) -> str:
        return "".join(self.head)

    def keyed(self) -> dict[str, Node]:
        return dict(self.items or [])


@dataclass
class Source:
    """A Go file of one version, with the names of its package."""

    repository: str
    tag: str
    path: str
    tokens: list[str]


def git(repository: str, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", repository, *arguments], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


@cache
def load(repository: str, tag: str, path: str) -> Source:
    text = git(repository, "show", f"{tag}:{path}")
    tokens = [token for token in TOKEN.findall(text) if not token.startswith(("//", "/*"))]
    return Source(repository, tag, path, tokens)


def closing(tokens: list[str], at: int) -> int:
    """Index of the bracket that closes the one at `at`."""
    depth = 0
    for index in range(at, len(tokens)):
        depth += (tokens[index] in OPENING) - (tokens[index] in OPENING.values())
        if depth == 0:
            return index
    raise ValueError("a bracket is never closed")


def expression(tokens: list[str], at: int) -> tuple[Node, int]:
    """The expression that begins at `at`, and the index of the token after it."""
    head: list[str] = []
    while at < len(tokens) and tokens[at] not in (",", ":", "}", ")", ";"):
        token = tokens[at]
        if token == "{" and "func" not in head:
            end = closing(tokens, at)
            return Node(head, items(tokens, at + 1, end)), end + 1
        end = closing(tokens, at) if token in OPENING else at
        head += tokens[at : end + 1]
        at = end + 1
        if token == "{":  # the body of a function literal
            break
    return Node(head), at


def items(tokens: list[str], at: int, end: int) -> list[tuple[str, Node]]:
    found: list[tuple[str, Node]] = []
    while at < end:
        key, (node, at) = "", expression(tokens, at)
        if tokens[at] == ":":
            key = node.text
            node, at = expression(tokens, at + 1)
        found.append((key, node))
        if at < end and tokens[at] != ",":
            raise ValueError(f"unexpected {tokens[at]!r} after {key or node.text}")
        at += 1
    return found


def defined(source: Source, name: str) -> Node | None:
    """The value of the file's top-level variable or function of that name."""
    tokens, depth = source.tokens, 0
    for at, token in enumerate(tokens):
        depth += (token == "{") - (token == "}")
        if depth != 0 or token != name:
            continue
        if tokens[at - 1] == "func":
            body = tokens.index("{", closing(tokens, at + 1))
            return expression(tokens, tokens.index("return", body) + 1)[0]
        equals = next((i for i in range(at + 1, min(at + 10, len(tokens))) if tokens[i] == "="), 0)
        if equals and not {"{", "(", ")", "func", "var"} & set(tokens[at + 1 : equals]):
            return expression(tokens, equals + 1)[0]
    return None


def resolve(source: Source, node: Node) -> tuple[Source, Node]:
    """Return the literal that a variable or a helper's call stands for, from this file, its package or another one."""
    if node.items is not None:
        return source, node
    package, _, name = node.head[0].lstrip("&").rpartition(".")
    found = None if package else defined(source, name)
    if found is not None:
        return resolve(source, found)
    folder = f"google/{package}" if package else source.path.rpartition("/")[0]
    pattern = rf"^(func |var |)\s*{name}\b"
    for line in git(source.repository, "grep", "-lE", pattern, source.tag, "--", f"{folder}/*.go").splitlines():
        other = load(source.repository, source.tag, line.partition(":")[2])
        found = defined(other, name)
        if found is not None:
            return resolve(other, found)
    raise ValueError(f"{source.path}@{source.tag}: cannot follow {node.text}")


def literal(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text.strip("`")


def paths_of(source: Source, node: Node) -> list[str]:
    listed = resolve(source, node)[1].items or []
    return [re.sub(r"\.\d+(?=\.|$)", "", literal(item.text)) for _, item in listed]


def properties(source: Source, entry: dict[str, Node]) -> Facts:
    """The set properties of one attribute's literal that matter to a plan."""
    facts: Facts = {"force_new": True} if "ForceNew" in entry and entry["ForceNew"].text == "true" else {}
    for name, key in (LISTS | GROUPS).items():
        paths = paths_of(source, entry[name]) if name in entry else []
        if paths:  # the SDK treats an empty list like no list
            facts[key] = paths
    if "DiffSuppressFunc" in entry:
        text = entry["DiffSuppressFunc"].text
        facts["diff_suppress"] = "inline" if text.startswith("func(") else text
    return facts


def walk(source: Source, schema: Node, prefix: str, found: dict[str, Facts]) -> None:
    """Adds every attribute of a `map[string]*schema.Schema` literal, and those below it, to `found`."""
    source, schema = resolve(source, schema)
    for key, node in schema.items or []:
        path = prefix + str(json.loads(key))
        place, entry = resolve(source, node)
        facts = properties(place, entry.keyed())
        if "Elem" in entry.keyed():
            inside, elem = resolve(place, entry.keyed()["Elem"])
            if elem.text.endswith("schema.Resource"):
                walk(inside, elem.keyed()["Schema"], f"{path}.", found)
        if facts:
            found[path] = facts


def file_of(name: str) -> str:
    """Return the Go file that registers a type. The file names of two types repeat the provider's name."""
    short = name.removeprefix("google_")
    prefix = "google_" if short in ("project_service", "service_account") else ""
    file = f"iam_{short.removesuffix('_iam_member')}" if short.endswith("_iam_member") else f"resource_{prefix}{short}"
    return f"google/services/{TYPES[name]}/{file}.go"


def type_facts(repository: str, tag: str, name: str) -> Facts | None:
    """Return the facts of a resource type at one version, or None if the provider does not register the type."""
    source = load(repository, tag, file_of(name))
    found: dict[str, Facts] = {}
    if f'"{name}"' not in source.tokens:
        return None
    if name.endswith("_iam_member"):
        made = next(i for i, token in enumerate(source.tokens) if token.endswith("ResourceIamMember"))
        walk(load(repository, tag, IAM), Node(["IamMemberBaseSchema"]), "", found)
        walk(source, Node([source.tokens[made + 2]]), "", found)
    else:
        listed = source.tokens.index("Schema", source.tokens.index(f'"{name}"'))
        walk(source, resolve(source, Node([source.tokens[listed + 2]]))[1].keyed()["Schema"], "", found)
    groups: dict[str, list[list[str]]] = {}
    for path, facts in found.items():
        for key in GROUPS.values() & facts.keys():
            group = sorted({path, *facts.pop(key)})  # the SDK counts the attribute itself, listed or not
            if group not in groups.setdefault(key, []):
                groups[key].append(group)
    attributes = {path: facts for path, facts in found.items() if facts}
    return {"attributes": attributes, "source": source.path} | ({"groups": groups} if groups else {})


def rendered(value: object, depth: int = 0) -> str:
    """JSON with sorted keys, and one line for each attribute and each hand-written entry."""
    if depth == 4 or not isinstance(value, dict | list) or not value:
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    indent = " " * (depth + 1)
    if isinstance(value, list):
        lines = [indent + rendered(item, depth + 1) for item in value]
    else:
        lines = [f"{indent}{json.dumps(key)}: {rendered(value[key], depth + 1)}" for key in sorted(value)]
    opened, closed = "[]" if isinstance(value, list) else "{}"
    return opened + "\n" + ",\n".join(lines) + "\n" + indent[1:] + closed


def main() -> None:
    repository, output, tag = sys.argv[1:]
    path = Path(output)
    kept: Facts = json.loads(path.read_text(encoding="utf-8"))["types"] if path.exists() else {}
    types: dict[str, Facts] = {}
    for name in sorted(TYPES):
        if facts := type_facts(repository, tag, name):
            types[name] = facts | {key: kept[name][key] for key in BY_HAND if key in kept.get(name, {})}
    source = git(repository, "log", "-1", "--format=%H %cs", tag).strip()
    path.write_text(rendered({"source": source, "types": types}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
