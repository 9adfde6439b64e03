#!/usr/bin/env python3
"""Stub Terraform providers: real schema, no cloud.

    provider.py TYPE...

TYPE is a resource type or data source that the configuration uses. The program serves Terraform's plugin protocol 5. In
a plan, computed attributes are unknown, and an apply fills them with plausible values. Nothing leaves the machine.

Terraform attaches to this one process. Otherwise it would start each provider several times in each run. The process
prints the value of TF_REATTACH_PROVIDERS for Terraform, and ends when its standard input is closed.
"""
import json
import os
import shutil
import signal
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fakes
import grpcserver
import rules
import store
import utility
from wire import (UNKNOWN, dyn, f_bytes, f_int, f_str, has_unknown, is_unknown, one, parse, text, undyn, varint)

ERROR = 1


def path_msg(steps):
    out = b""
    for s in steps:
        out += f_bytes(1, bytes((3 << 3,)) + varint(s) if isinstance(s, int) else f_bytes(1, s.encode()))
    return out


def diag(field, summary, detail="", path=()):
    m = f_int(1, ERROR) + f_str(2, summary) + f_str(3, detail)
    if path:
        m += f_bytes(4, path_msg(path))
    return f_bytes(field, m)


# ------------------------------------------------------------- block walking


def each_block(block, value):
    """(name, nesting, sub-block, list of (key, object)) for present blocks"""
    for name, (nest, _, _, sub) in block.get("b", {}).items():
        v = value.get(name)
        if v is None or is_unknown(v):
            continue
        if nest in ("list", "set"):
            yield name, nest, sub, [(i, x) for i, x in enumerate(v) if isinstance(x, dict)]
        else:
            yield name, nest, sub, [(None, v)]


def put_blocks(block, value, out, fn):
    """Copy nested blocks of `value` into `out`, each object through fn(sub, object)."""
    for name, (nest, _, _, sub) in block.get("b", {}).items():
        v = value.get(name)
        if v is None or is_unknown(v):
            out[name] = v if v is not None or nest == "single" else []
        elif nest in ("list", "set"):
            out[name] = [fn(sub, x, (name, i)) if isinstance(x, dict) else x for i, x in enumerate(v)]
        else:
            out[name] = fn(sub, v, (name,))
    return out


def plan_block(block, value, defaults=True):
    out = {}
    for name, spec in block["a"].items():
        v, fl = value.get(name), spec[1]
        if "w" in fl:
            v = None
        elif v is None and "c" in fl:
            v = UNKNOWN
        elif v is None and defaults and len(spec) > 2 and "d" in spec[2]:
            v = spec[2]["d"]
        out[name] = v
    return put_blocks(block, value, out, lambda s, x, p: plan_block(s, x, defaults))


def strip_write_only(block, value):
    out = {n: None if "w" in spec[1] else value.get(n) for n, spec in block["a"].items()}
    return put_blocks(block, value, out, lambda s, x, p: strip_write_only(s, x))


def fill_block(block, value, ctx, computed_null=False, root=None, path=()):
    """Replace unknowns (and, for data sources, absent computed values) by fakes."""
    out = {}
    root = value if root is None else root
    for name, spec in block["a"].items():
        v, fl = value.get(name), spec[1]
        if is_unknown(v) or (computed_null and v is None and "c" in fl and "w" not in fl):
            v = fakes.value(ctx, path + (name,), spec[0], root)
        elif has_unknown(v):
            v = fakes.fill(ctx, path + (name,), spec[0], v, root)
        out[name] = v
    return put_blocks(block, value, out,
                      lambda s, x, p: fill_block(s, x, ctx, computed_null, root, path + p))


def normalise(block, value):
    """State read from JSON: exactly the attributes of the schema."""
    out = {n: value.get(n) for n in block["a"]}
    return put_blocks(block, value, out, lambda s, x, p: normalise(s, x))


def check(block, value, path, dotted, out, kind):
    """The provider's own checks: read-only attributes and listed values."""
    for name, spec in block["a"].items():
        allowed = len(spec) > 2 and spec[2].get("e")
        v = value.get(name)
        if v is None:
            continue
        if "r" not in spec[1] and "o" not in spec[1]:
            out.append(diag(1, "Value for unconfigurable attribute",
                            'Can\'t configure a value for "%s": its value will be decided automatically based on '
                            "the result of applying this configuration." % (dotted + name), path + (name,)))
        elif name == "id" and not path and kind == "resources" and spec[1] == "oc":
            out.append(diag(1, "Invalid or unknown key", "", path + (name,)))
        if not allowed or is_unknown(v):
            continue
        items = [((), v)] if isinstance(v, str) else [((i,), x) for i, x in enumerate(v) if isinstance(x, str)]
        for sub, x in items:
            if x and x not in allowed and not is_unknown(x):
                out.append(diag(1, "expected %s to be one of [%s], got %s" % (
                    dotted + name + "".join(".%d" % i for i in sub),
                    " ".join('"%s"' % a for a in allowed), x), path=path + (name,)))
    for name, nest, sub, items in each_block(block, value):
        for key, x in items:
            # a path cannot point into a set: stop at the block
            p = path + ((name,) if key is None else (name, key))
            check(sub, x, p if nest != "set" else path + (name,),
                  dotted + name + "." + ("%s." % key if isinstance(key, int) else ""), out, kind)


def told(variable):
    """The JSON object in the file that an environment variable names; empty without one."""
    path = os.environ.get(variable)
    if not path or not os.path.exists(path):
        return {}
    with open(path) as f:
        return json.load(f)


def overlaid(value, changes):
    """Return `value` with `changes` applied.

    Dicts are merged recursively. If `value` is a list of one element (a Terraform block), the changes are merged into
    this element. Any other value is replaced.
    """
    if isinstance(changes, dict) and isinstance(value, list) and len(value) == 1:
        return [overlaid(value[0], changes)]
    if isinstance(changes, dict) and isinstance(value, dict):
        return {**value, **{k: overlaid(value.get(k), c) for k, c in changes.items()}}
    return changes


# ------------------------------------------------------------------ provider


class Provider:
    def __init__(self, schema):
        self.schema = schema
        self.google = schema["provider"].startswith("google")
        self._rules = None
        self._encoded = None
        self.config = {}

    def ctx(self, kind, tname):
        return fakes.Context(self, kind, tname)

    def rule(self, tname):
        """The provider's rules for this type beyond its schema; None if none are known."""
        if self._rules is None:
            self._rules = rules.load() if self.google else {}
        return self._rules.get(tname)

    def block(self, kind, name):
        return self.schema[kind][name]

    def method(self, path):
        """The function that answers the calls of a path; None without one."""
        fn = getattr(self, "rpc_" + path.removeprefix("/tfplugin5.Provider/"), None)
        return fn and (lambda msg: fn(parse(msg)))

    # schema
    def rpc_GetSchema(self, m):
        if self._encoded is None:
            self._encoded = store.encoded(self.schema)
        return self._encoded

    # configuration
    def rpc_PrepareProviderConfig(self, m):
        return f_bytes(1, one(m, 1))

    def rpc_Configure(self, m):
        self.config = undyn(one(m, 2)) or {}
        return b""

    # validation
    def _validate(self, kind, m):
        b = self.block(kind, text(m, 1))
        out = []
        cfg = undyn(one(m, 2))
        if isinstance(cfg, dict):
            check(b, cfg, (), "", out, kind)
            rule = self.rule(text(m, 1)) if kind == "resources" else None
            out += [diag(1, "Conflicting configuration arguments", p) for p in rules.problems(rule, cfg)] if rule else []
        return b"".join(out)

    def rpc_ValidateResourceTypeConfig(self, m):
        return self._validate("resources", m)

    def rpc_ValidateDataSourceConfig(self, m):
        return self._validate("data", m)

    def rpc_ValidateEphemeralResourceConfig(self, m):
        return self._validate("ephemeral", m)

    # managed resources
    def rpc_UpgradeResourceState(self, m):
        b = self.block("resources", text(m, 1))
        raw = one(parse(one(m, 3)), 1)
        value = json.loads(bytes(raw)) if raw else {}
        return f_bytes(1, dyn(normalise(b, value or {})))

    def rpc_ReadResource(self, m):
        b = self.block("resources", text(m, 1))
        v = undyn(one(m, 2))
        if isinstance(v, dict):
            ctx = self.ctx("resources", text(m, 1))
            v = fill_block(b, v, ctx, computed_null=True)
            if self.google:
                rules.read(text(m, 1), v)
                changes = told("TFCHECK_DRIFT").get("%s %s" % (text(m, 1), v.get("name")), {})
                v = None if changes is None else overlaid(v, changes)
        return f_bytes(1, dyn(v)) + (f_bytes(3, one(m, 3)) if one(m, 3) else b"")

    def rpc_PlanResourceChange(self, m):
        tname = text(m, 1)
        b = self.block("resources", tname)
        prior, proposed, config = (undyn(one(m, k)) for k in (2, 3, 4))
        legacy = f_int(5, 1)
        if proposed is None:
            return f_bytes(1, dyn(None)) + legacy
        if prior is not None and strip_write_only(b, proposed) == prior:
            return f_bytes(1, dyn(prior)) + legacy
        planned = plan_block(b, proposed, defaults=self.google)
        replace = []
        rule = self.rule(tname)
        if self.google and prior is not None:
            rules.keep_in_sets(b, prior, planned)
        if rule and prior is not None:
            rules.suppress(tname, rule, prior, planned)
            if strip_write_only(b, planned) == prior:
                return f_bytes(1, dyn(prior)) + legacy
        if self.google:
            fakes.plan_google(self, b, tname, planned, prior)
        else:
            replace = utility.plan(tname, prior, config)
        places = [(r,) for r in replace] + (rules.replacements(rule, b, prior, planned) if rule and prior else [])
        return f_bytes(1, dyn(planned)) + b"".join(f_bytes(2, path_msg(p)) for p in places) + legacy

    def rpc_ApplyResourceChange(self, m):
        tname = text(m, 1)
        b = self.block("resources", tname)
        planned = undyn(one(m, 3))
        if planned is None:
            return f_bytes(1, dyn(None)) + f_int(4, 1)
        ctx = self.ctx("resources", tname)
        if not self.google:
            utility.apply(tname, planned)
        failure = told("TFCHECK_FAILURES").get(tname)
        # As with the real provider's SDK: if a resource failed after its request was accepted, it is in the state, and
        # it is marked as tainted if it is new.
        error = diag(3, failure) if failure else b""
        return f_bytes(1, dyn(fill_block(b, planned, ctx))) + error + f_int(4, 1)

    # data sources, ephemeral resources
    def rpc_ReadDataSource(self, m):
        tname = text(m, 1)
        b = self.block("data", tname)
        v = undyn(one(m, 2)) or {}
        if self.google:
            fakes.read_google(self, b, tname, v)
            v = overlaid(v, told("TFCHECK_DRIFT").get("data.%s %s" % (tname, v.get("name")), {}))
        else:
            utility.read(tname, v)
        return f_bytes(1, dyn(fill_block(b, v, self.ctx("data", tname), computed_null=True)))

    def rpc_OpenEphemeralResource(self, m):
        tname = text(m, 1)
        b = self.block("ephemeral", tname)
        v = undyn(one(m, 2)) or {}
        utility.apply(tname, v)
        return f_bytes(3, dyn(fill_block(b, v, self.ctx("ephemeral", tname), computed_null=True)))

    def rpc_CloseEphemeralResource(self, m):
        return b""


def main():
    directory = tempfile.mkdtemp(prefix="tfp")
    served, servers = {}, []
    for schema in store.schemas(set(sys.argv[1:])):
        path = os.path.join(directory, schema["provider"])
        servers.append(grpcserver.listen(path, Provider(schema).method))
        served["registry.terraform.io/hashicorp/" + schema["provider"]] = {"Protocol": "grpc", "ProtocolVersion": 5, "Pid": os.getpid(), "Test": True,
                           "Addr": {"Network": "unix", "String": path}}
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Terraform decides when to stop
    print(json.dumps(served), flush=True)
    sys.stdin.read()
    shutil.rmtree(directory, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main()
