"""Behaviour of the small providers: random, archive, null, time, local, external, http."""
import base64
import datetime
import gzip
import hashlib
import io
import json
import os
import re
import secrets
import string as _s
import subprocess
import tarfile
import uuid
import zipfile

from wire import UNKNOWN, Failed, has_unknown, is_unknown

# attributes whose change does not replace the resource
IN_PLACE = {"time_sleep": {"create_duration", "destroy_duration"},
            "time_offset": {"offset_" + u for u in "years months days hours minutes seconds".split()},
            "time_rotating": {"rotation_" + u for u in "years months days hours minutes".split()}}


def plan(provider, tname, planned, prior, config):
    """-> attributes that force a replacement"""
    if provider == "time" and tname != "time_sleep" and prior is None:
        pass
    if prior is None or provider == "archive":
        return []
    keep = IN_PLACE.get(tname, ())
    return [k for k, v in (config or {}).items()
            if k not in keep and v is not None and not isinstance(prior.get(k), (list,)) and prior.get(k) != v
            or k in ("keepers", "triggers") and (prior.get(k) or None) != (v or None)]


def _hashes(data, prefix):
    return {prefix + "md5": hashlib.md5(data).hexdigest(), prefix + "sha1": hashlib.sha1(data).hexdigest(),
            prefix + "sha256": hashlib.sha256(data).hexdigest(), prefix + "sha512": hashlib.sha512(data).hexdigest(),
            prefix + "base64sha256": base64.b64encode(hashlib.sha256(data).digest()).decode(),
            prefix + "base64sha512": base64.b64encode(hashlib.sha512(data).digest()).decode()}


def _scratch(path):
    root = os.environ.get("TFCHECK_ROOT")
    return bool(root) and (os.path.realpath(path) + os.sep).startswith(os.path.realpath(root) + os.sep)


def _password(v):
    n = int(v.get("length") or 16)
    special = "!@#$%&*()-_=+[]{}<>:?" if not v.get("override_special") else v["override_special"]
    groups = [(v.get("upper"), _s.ascii_uppercase, v.get("min_upper")),
              (v.get("lower"), _s.ascii_lowercase, v.get("min_lower")),
              (v.get("numeric"), _s.digits, v.get("min_numeric")), (v.get("special"), special, v.get("min_special"))]
    chars, out = "", []
    for on, alphabet, least in groups:
        if on is not False:
            chars += alphabet
        out += [secrets.choice(alphabet) for _ in range(int(least or 0))]
    out += [secrets.choice(chars or _s.ascii_letters) for _ in range(max(0, n - len(out)))]
    secrets.SystemRandom().shuffle(out)
    return "".join(out[:n])


DEFAULTS = {"random_password": {"upper": True, "lower": True, "numeric": True, "number": True, "special": True,
                                "min_upper": 0, "min_lower": 0, "min_numeric": 0, "min_special": 0},
            "random_pet": {"length": 2, "separator": "-"}}
DEFAULTS["random_string"] = DEFAULTS["random_password"]


def _time_parts(t):
    return {"rfc3339": t.strftime("%Y-%m-%dT%H:%M:%SZ"), "id": t.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "unix": int(t.timestamp()), "year": t.year, "month": t.month, "day": t.day, "hour": t.hour,
            "minute": t.minute, "second": t.second}


def _parse_time(s):
    m = re.match(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)$", s or "")
    if not m:
        raise Failed("%r is not a RFC 3339 time" % (s,))
    return datetime.datetime.fromisoformat(m[1] + "T" + m[2] + ("+00:00" if m[3] == "Z" else m[3]))


def _shift(t, v, prefix):
    def g(k):
        return int(v.get(prefix + k) or 0)
    months = t.month - 1 + g("months") + 12 * g("years")
    t = t.replace(year=t.year + months // 12, month=months % 12 + 1, day=min(t.day, 28) if g("months") or g("years") else t.day)
    return t + datetime.timedelta(days=g("days"), hours=g("hours"), minutes=g("minutes"), seconds=g("seconds"))


def apply(provider, tname, v, config):
    """Fill the unknown values of `v` in place."""
    def put(d):
        for k, x in d.items():
            if k in v and (is_unknown(v[k]) or v[k] is None):
                v[k] = x
    put({k: x for k, x in DEFAULTS.get(tname, {}).items()})
    if tname == "random_id" or tname == "random_bytes":
        raw = secrets.token_bytes(int(v.get("byte_length") or v.get("length") or 8))
        p = v.get("prefix") or ""
        std, url = base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode().rstrip("=")
        put({"id": url, "b64_url": p + url, "b64_std": p + std, "hex": (p if tname == "random_id" else "") + raw.hex(),
             "dec": p + str(int.from_bytes(raw, "big")), "base64": std})
    elif tname in ("random_password", "random_string"):
        r = _password(v)
        put({"result": r, "id": r if tname == "random_string" else "none",
             "bcrypt_hash": "$2a$10$" + base64.b64encode(hashlib.sha256(r.encode()).digest()).decode()[:43] + "fakefakef"})
    elif tname == "random_integer":
        lo, hi = int(v["min"]), int(v["max"])
        r = lo + secrets.randbelow(max(1, hi - lo + 1))
        put({"result": r, "id": str(r)})
    elif tname in ("random_uuid", "random_uuid4", "random_uuid7"):
        r = str(uuid.uuid4())
        put({"result": r, "id": r})
    elif tname == "random_pet":
        words = ["able", "calm", "keen", "wise", "bold", "neat", "heron", "otter", "lynx", "mole"]
        r = v["separator"].join([v["prefix"]] * bool(v.get("prefix")) +
                                [secrets.choice(words) for _ in range(int(v["length"]))])
        put({"id": r})
    elif tname == "random_shuffle":
        items = list(v.get("input") or [])
        secrets.SystemRandom().shuffle(items)
        put({"result": items[:int(v["result_count"])] if v.get("result_count") else items, "id": "-"})
    elif tname == "null_resource":
        put({"id": str(secrets.randbelow(10 ** 18))})
    elif provider == "time":
        now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
        if tname == "time_sleep":
            put({"id": _time_parts(now)["rfc3339"]})
            return
        base = v.get("base_rfc3339") if tname == "time_offset" or tname == "time_rotating" else v.get("rfc3339")
        base = _parse_time(base) if isinstance(base, str) else now
        if tname == "time_offset":
            put({"base_rfc3339": _time_parts(base)["rfc3339"]})
            put(_time_parts(_shift(base, v, "offset_")))
            v["id"] = v["base_rfc3339"]
        elif tname == "time_rotating":
            rot = _shift(base, v, "rotation_")
            put({"rotation_rfc3339": _time_parts(rot)["rfc3339"]})
            put(_time_parts(base))
        else:
            put(_time_parts(base))
    elif tname in ("local_file", "local_sensitive_file"):
        data = _content(v)
        put({k: x for k, x in _hashes(data, "content_").items()})
        put({"id": hashlib.sha1(data).hexdigest(), "file_permission": "0777", "directory_permission": "0777"})
        _write(v["filename"], data)
    elif tname == "archive_file":
        read(provider, tname, v)


def _content(v):
    if isinstance(v.get("content_base64"), str):
        return base64.b64decode(v["content_base64"])
    if isinstance(v.get("source"), str):
        with open(v["source"], "rb") as f:
            return f.read()
    c = v.get("content") if isinstance(v.get("content"), str) else v.get("sensitive_content")
    return (c if isinstance(c, str) else "").encode()


def _write(path, data):
    """Only inside tfcheck's scratch copy."""
    full = os.path.abspath(path)
    if not _scratch(os.path.dirname(full)):
        return
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if _scratch(os.path.dirname(full)):
        if os.path.islink(full):
            os.unlink(full)
        with open(path, "wb") as f:
            f.write(data)


def _archive(v):
    files = {}
    excl = [e.rstrip("/") for e in v.get("excludes") or [] if isinstance(e, str)]

    def excluded(rel):
        import fnmatch
        return any(rel == e or rel.startswith(e + "/") or fnmatch.fnmatch(rel, e) or
                   (e.startswith("**/") and fnmatch.fnmatch(os.path.basename(rel), e[3:])) for e in excl)

    if v.get("source_dir"):
        root = v["source_dir"]
        if not os.path.isdir(root):
            raise Failed("Archive creation error: error creating archive: error archiving directory: "
                         "could not archive missing directory: " + root)
        for d, ds, fs in os.walk(root, followlinks=not v.get("exclude_symlink_directories")):
            ds.sort()
            for f in sorted(fs):
                full = os.path.join(d, f)
                rel = os.path.relpath(full, root).replace(os.sep, "/")
                if not excluded(rel) and os.path.isfile(full):
                    with open(full, "rb") as fh:
                        files[rel] = fh.read()
    elif v.get("source_file"):
        f = v["source_file"]
        if not os.path.isfile(f):
            raise Failed("Archive creation error: error creating archive: error archiving file: "
                         "could not archive missing file: " + f)
        with open(f, "rb") as fh:
            files[os.path.basename(f)] = fh.read()
    elif v.get("source_content_filename"):
        files[v["source_content_filename"]] = (v.get("source_content") or "").encode()
    elif v.get("source"):
        for s in v["source"]:
            files[s["filename"]] = (s.get("content") or "").encode()
    else:
        raise Failed("Archive creation error: one of source_dir, source_file, source_content_filename or "
                     "source must be specified")
    out = io.BytesIO()
    if v.get("type") == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
            for n in sorted(files):
                i = zipfile.ZipInfo(n, (2049, 1, 1, 0, 0, 0))
                i.compress_type = zipfile.ZIP_DEFLATED
                z.writestr(i, files[n])
    elif v.get("type") == "tar.gz":
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w") as t:
            for n in sorted(files):
                i = tarfile.TarInfo(n)
                i.size = len(files[n])
                t.addfile(i, io.BytesIO(files[n]))
        with gzip.GzipFile(filename="", fileobj=out, mode="wb", mtime=0) as g:
            g.write(raw.getvalue())
    else:
        raise Failed('Archive creation error: unsupported archive type "%s"' % v.get("type"))
    return out.getvalue()


def read(provider, tname, v):
    """Fill a data source in place."""
    if tname == "archive_file":
        data = _archive(v)
        h = _hashes(data, "output_")
        h["output_sha"] = h.pop("output_sha1")
        for k, x in h.items():
            if k in v or k.startswith("output_"):
                v[k] = x
        v["output_size"], v["id"] = len(data), h["output_sha"]
        _write(v["output_path"], data)
    elif tname in ("local_file", "local_sensitive_file"):
        try:
            with open(v["filename"], "rb") as f:
                data = f.read()
        except OSError as e:
            raise Failed("Read local file data source error: " + str(e))
        v["content"] = data.decode("utf-8", "replace")
        v["content_base64"] = base64.b64encode(data).decode()
        v.update(_hashes(data, "content_"))
        v["id"] = hashlib.sha1(data).hexdigest()
    elif tname == "null_data_source":
        v["outputs"], v["random"], v["id"] = v.get("inputs") or {}, "0", "static"
        v["has_computed_default"] = v.get("has_computed_default") or "default"
    elif tname == "external":
        p = subprocess.run(v["program"], input=json.dumps(v.get("query") or {}), capture_output=True, text=True,
                           cwd=v.get("working_dir") or None)
        if p.returncode:
            raise Failed("External Program Execution Failed: %s: %s" % (v["program"][0], p.stderr.strip()))
        r = json.loads(p.stdout)
        if not isinstance(r, dict) or not all(isinstance(x, str) for x in r.values()):
            raise Failed("Unexpected External Program Results: the program must print a JSON object of strings")
        v["result"], v["id"] = r, "-"
    elif tname == "http":
        # TFCHECK_HTTP is a file of {"url": "body"}: the answers of the Internet.
        answers = {}
        if os.environ.get("TFCHECK_HTTP"):
            with open(os.environ["TFCHECK_HTTP"]) as f:
                answers = json.load(f)
        body = answers.get(v.get("url"), "")
        v.update(response_body=body, body=body, response_headers={}, status_code=200, id=v.get("url"),
                 response_body_base64="")


# ----------------------------------------------------------------- functions


def _from_id(word, s, what):
    m = re.search(r"(?:^|/)%s/([^/]+)" % word, s)
    if not m:
        raise Failed('The input string "%s" doesn\'t contain the expected pattern "%s/{%s}/".' % (s, word, what))
    return m[1]


def _date(t):
    iso = t.isocalendar()
    return {"year": t.year, "year_day": t.timetuple().tm_yday, "day": t.day, "month": t.month,
            "month_name": t.strftime("%B"), "weekday": (t.weekday() + 1) % 7, "weekday_name": t.strftime("%A"),
            "hour": t.hour, "minute": t.minute, "second": t.second, "unix": int(t.timestamp()),
            "iso_year": iso[0], "iso_week": iso[1]}


def call(provider, name, args):
    if any(has_unknown(a) for a in args):
        return UNKNOWN
    a = args[0] if args else None
    if provider.startswith("google"):
        if name == "name_from_id":
            return a.rstrip("/").rsplit("/", 1)[-1]
        if name == "region_from_zone":
            if not re.match(r"^[a-z]+-[a-z]+\d+-[a-z]$", a):
                raise Failed('The input string "%s" is not a valid zone name.' % a)
            return a.rsplit("-", 1)[0]
        m = re.match(r"(project|location|region|zone)_from_id$", name)
        if m:
            return _from_id(m[1] + "s", a, m[1])
    if name == "direxists":
        return os.path.isdir(a)
    if name == "rfc3339_parse":
        return _date(_parse_time(a))
    if name == "unix_timestamp_parse":
        return _date(datetime.datetime.fromtimestamp(a, datetime.timezone.utc))
    if name == "duration_parse":
        unit = {"ns": 1, "us": 10 ** 3, "\u00b5s": 10 ** 3, "ms": 10 ** 6, "s": 10 ** 9, "m": 60 * 10 ** 9,
                "h": 3600 * 10 ** 9}
        parts = re.findall(r"([\d.]+)(ns|us|\u00b5s|ms|s|m|h)", a)
        if not parts:
            raise Failed("time: invalid duration %r" % a)
        ns = sum(float(n) * unit[u] for n, u in parts)
        return {"hours": ns / 3.6e12, "minutes": ns / 6e10, "seconds": ns / 1e9, "milliseconds": int(ns // 10 ** 6),
                "microseconds": int(ns // 10 ** 3), "nanoseconds": int(ns)}
    raise Failed("function %s is not emulated" % name)
