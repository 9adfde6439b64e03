"""The provider's rules beyond its schema: replacement, conflicts, ignored differences, and values that it reads back.

The rules are data, rules/provider_rules.json, taken from the provider's public source by rules/extract.py; each stands
there with its file, line and version.
"""
import ipaddress
import functools
import json
import os

from wire import has_unknown, is_unknown

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rules", "provider_rules.json")


@functools.cache
def load():
    """The rules by resource type."""
    with open(FILE) as f:
        return json.load(f)["types"]


def at(value, path):
    """Every value at a dotted path, through lists of blocks: [(place, value)]."""
    found = [((), value)]
    for step in path.split("."):
        nxt = []
        for place, one in found:
            if isinstance(one, dict):
                nxt.append((place + (step,), one.get(step)))
            elif isinstance(one, list):
                nxt += [(place + (i, step), x.get(step)) for i, x in enumerate(one) if isinstance(x, dict)]
        found = nxt
    return found


def is_set(value, path):
    """Whether an attribute is set. As in the plugin SDK, an empty string counts as set, and null does not."""
    return any(one not in (None, [], {}) for _, one in at(value, path))


def problems(rule, config):
    """Return the errors about attributes that exclude or need each other, and about values that the API refuses."""
    out = []
    for path, facts in rule["attributes"].items():
        if not is_set(config, path):
            continue
        out += ['"%s": conflicts with %s' % (path, other) for other in facts.get("conflicts_with", ())
                if is_set(config, other)]
        missing = [other for other in facts.get("required_with", ()) if not is_set(config, other)]
        if missing:
            out.append('"%s": all of `%s` must be specified' % (path, ",".join(facts["required_with"])))
    for kind, least, most in (("exactly_one_of", 1, 1), ("at_least_one_of", 1, None)):
        for group in rule.get("groups", {}).get(kind, ()):
            parent = os.path.commonprefix([p.split(".")[:-1] for p in group])
            # Terraform validates a dynamic block whose number is not known yet as an unknown value.
            known = [one for _, one in at(config, ".".join(parent)) if not has_unknown(one)] if parent else [config]
            if not known or all(one in (None, "", [], {}) for one in known):
                continue
            count = sum(is_set(config, p) for p in group)
            if count < least or most is not None and count > most:
                out.append('"%s": %s `%s` must be specified' % (
                    group[0], "only one of" if count else "one of", ",".join(group)))
    return out + [refusal["error"] for refusal in rule.get("refusals", ())
                  if all(any(value in values for _, value in at(config, path))
                         for path, values in refusal["values"].items())]


# ------------------------------------------------------- differences that are none


def _link(a, b):
    cut = [str(x).split("/projects/")[-1].split("projects/")[-1] for x in (a, b)]
    return cut[0] == cut[1]


def _link_or_name(a, b):
    return _link(a, b) or "/" not in a and b.endswith("/" + a) or "/" not in b and a.endswith("/" + b)


def _seconds(a, b):
    unit = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    try:
        return float(a[:-1]) * unit[a[-1]] == float(b[:-1]) * unit[b[-1]]
    except (KeyError, ValueError, IndexError):
        return False


SAME = {
    "tpgresource.CompareSelfLinkRelativePaths": _link,
    "tpgresource.CompareSelfLinkOrResourceName": _link_or_name,
    "tpgresource.CompareResourceNames": _link_or_name,
    "tpgresource.CaseDiffSuppress": lambda a, b: a.lower() == b.lower(),
    "iamMemberCaseDiffSuppress": lambda a, b: a.lower() == b.lower(),
    "caseDiffDashSuppress": lambda a, b: a.replace("-", "_").lower() == b.replace("-", "_").lower(),
    "tpgresource.DurationDiffSuppress": _seconds,
    "durationDiffSuppress": _seconds,
}


def suppress(tname, rule, prior, planned):
    """Put the prior value back wherever the provider sees no difference."""
    for path, facts in rule["attributes"].items():
        same = SAME.get(facts.get("diff_suppress", ""))
        if same is None:
            continue
        before = dict(at(prior, path))
        for place, value in at(planned, path):
            old = before.get(place)
            if isinstance(old, str) and isinstance(value, str) and value and old != value and same(old, value):
                _put(planned, place, old)
    if tname == "google_cloudfunctions2_function":
        path = "service_config.environment_variables"
        before = dict(at(prior, path))
        for place, value in at(planned, path):
            added = (before.get(place) or {}).get("LOG_EXECUTION_ID")
            if isinstance(value, dict) and added is not None and "LOG_EXECUTION_ID" not in value:
                _put(planned, place, {**value, "LOG_EXECUTION_ID": added})
    if tname == "google_monitoring_dashboard" and _known(prior, planned, "dashboard_json"):
        stored, wanted = json.loads(prior["dashboard_json"]), json.loads(planned["dashboard_json"])
        if _only(stored, wanted) == wanted:
            planned["dashboard_json"] = prior["dashboard_json"]


def keep_in_sets(block, prior, planned):
    """Add computed values to the blocks of a set, whose elements Terraform cannot identify."""
    for name, (nest, _, _, sub) in block.get("b", {}).items():
        olds, news = prior.get(name), planned.get(name)
        if not isinstance(olds, list) or not isinstance(news, list):
            continue
        for at_, new in enumerate(news):
            if nest == "list" and at_ < len(olds) and isinstance(new, dict):
                keep_in_sets(sub, olds[at_], new)
            if nest != "set" or not isinstance(new, dict):
                continue
            for old in olds:
                if all(is_unknown(v) or v == old.get(k) or not v and not old.get(k) for k, v in new.items()):
                    new.update({k: old.get(k) for k, v in new.items() if is_unknown(v)})
                    break


def _known(prior, planned, name):
    return isinstance(prior.get(name), str) and isinstance(planned.get(name), str)


def _only(stored, wanted):
    """The stored value without the keys that the configuration lacks."""
    if isinstance(stored, dict) and isinstance(wanted, dict):
        return {k: _only(v, wanted[k]) for k, v in stored.items() if k in wanted}
    if isinstance(stored, list) and isinstance(wanted, list) and len(stored) == len(wanted):
        return [_only(a, b) for a, b in zip(stored, wanted)]
    return stored


def _put(value, place, new):
    for step in place[:-1]:
        value = value[step]
    value[place[-1]] = new


# ------------------------------------------------------------------- replacement


def _count(value):
    return len(value) if isinstance(value, list) else value if is_unknown(value) else int(value is not None)


def replacements(rule, block, prior, planned):
    """Paths whose change makes the provider replace the resource."""
    out = []
    for path, facts in rule["attributes"].items():
        if not facts.get("force_new"):
            continue
        measure = _count if _is_block(block, path) else (lambda x: x)
        before, after = ({p: measure(v) for p, v in at(value, path)} for value in (prior, planned))
        out += [_up_to_a_list(place) for place in after if _differs(before.get(place), after[place])]
    for rule_ in rule.get("customize_diff", ()):
        path, when = rule_["attribute"], rule_["replaces_when"]
        before, after = dict(at(prior, path)), dict(at(planned, path))
        for place in set(before) | set(after):
            if _when(when, before.get(place), after.get(place)):
                out.append(_up_to_a_list(place))
    return out


def _up_to_a_list(place):
    """Return the path up to its first list or set.

    Terraform accepts no path into a set, and it is enough to name the block that differs.
    """
    return place[:next((i for i, step in enumerate(place) if isinstance(step, int)), len(place))]


def _differs(old, new):
    empty = (None, "", [], {}, 0, False)
    return old != new and not (old in empty and new in empty and not is_unknown(new))


def _when(when, old, new):
    if when == "set_to_unset":
        return old not in (None, "") and new in (None, "")
    if when == "unset_to_set":
        return old in (None, "") and new not in (None, "")
    if when == "true_to_false":
        return old is True and new is not True
    if when == "false_to_true":
        return old is not True and new is True
    if when == "shrunk" and isinstance(old, str) and isinstance(new, str):
        return not ipaddress.ip_network(old).subnet_of(ipaddress.ip_network(new))
    if when == "shrunk" and isinstance(old, (int, float)) and isinstance(new, (int, float)):
        return new < old
    return when == "changed" and not isinstance(new, (list, dict)) and _differs(old, new)


def _is_block(block, path):
    steps = path.split(".")
    for step in steps[:-1]:
        if step not in block.get("b", {}):
            return False
        block = block["b"][step][3]
    return steps[-1] in block.get("b", {})


# ----------------------------------------------------------------------- reading


def read(tname, state):
    """Change `state` to what the API answers, where the answer differs from the request."""
    if tname == "google_monitoring_dashboard" and isinstance(state.get("dashboard_json"), str):
        # Zeros, falses and empty lists are left out of the answer, names and etags are added.
        answer = _without_zeros(json.loads(state["dashboard_json"]))
        state["dashboard_json"] = json.dumps({**answer, "etag": "fake", "name": "projects/1/dashboards/1"})
    if tname == "google_cloudfunctions2_function":
        for place, env in at(state, "service_config.environment_variables"):
            if isinstance(env, dict):
                _put(state, place, {**env, "LOG_EXECUTION_ID": "true"})
        for name in ("network", "subnetwork"):
            for place, link in at(state, "service_config.direct_vpc_network_interface." + name):
                if isinstance(link, str) and link.startswith("projects/%s/" % (state.get("project") or "-")):
                    _put(state, place, link.rsplit("/", 1)[-1])


def _without_zeros(value):
    if isinstance(value, dict):
        return {k: _without_zeros(v) for k, v in value.items() if v not in (0, "", [], False)}
    if isinstance(value, list):
        return [_without_zeros(v) for v in value]
    return value
