"""Behaviour of the small providers: random, archive, time, http. Only the types that the configuration uses."""
import hashlib
import json
import os
import secrets
import zipfile

from wire import is_unknown

# Attributes whose change does not replace the resource.
IN_PLACE = {"time_sleep": {"create_duration", "destroy_duration"}}


def plan(tname, prior, config):
    """-> attributes that force a replacement"""
    if prior is None:
        return []
    keep = IN_PLACE.get(tname, ())
    out = [k for k, v in config.items() if k not in (*keep, "keepers") and v is not None and prior.get(k) != v]
    return out + ["keepers"] * (_keepers(config) != _keepers(prior))


def _keepers(values):
    """The keepers of a random value. As in the real provider, null and an empty map are different but replace nothing."""
    return {k: v for k, v in (values.get("keepers") or {}).items() if v is not None}


def apply(tname, v):
    """Fill the unknown values of `v` in place."""
    def put(**values):
        for k, x in values.items():
            if v[k] is None or is_unknown(v[k]):
                v[k] = x

    if tname == "random_id":
        raw = secrets.token_bytes(int(v["byte_length"]))
        put(id=raw.hex(), hex=raw.hex())
    elif tname == "random_password":
        put(result=secrets.token_hex(int(v["length"]))[:int(v["length"])])


def read(tname, v):
    """Fill a data source in place."""
    if tname == "archive_file":
        os.makedirs(os.path.dirname(v["output_path"]), exist_ok=True)
        with zipfile.ZipFile(v["output_path"], "w", zipfile.ZIP_DEFLATED) as z:
            for source in sorted(v["source"], key=lambda s: s["filename"]):
                entry = zipfile.ZipInfo(source["filename"], (2049, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                z.writestr(entry, source["content"])
        with open(v["output_path"], "rb") as f:
            v["output_sha256"] = hashlib.sha256(f.read()).hexdigest()
        v["output_size"], v["id"] = os.path.getsize(v["output_path"]), v["output_sha256"]
    elif tname == "http":
        # TFCHECK_HTTP is a file of {"url": "body"}: the answers of the Internet.
        answers, path = {}, os.environ.get("TFCHECK_HTTP")
        if path and os.path.exists(path):
            with open(path) as f:
                answers = json.load(f)
        v.update(response_body=answers.get(v["url"], ""), response_headers={}, status_code=200, id=v["url"])
