#!/usr/bin/env python3
"""Holds verify.py and verify_json.py to the vectors of the project: vectors.py FILE..."""
import base64, json, sys

import verify, verify_json


def run_vectors(names):
    checked = skipped = failed = 0
    for v in (v for name in names for v in json.load(open(name, encoding="utf-8"))["vectors"]):
        raw = bytes.fromhex(v["input_hex"]) if "input_hex" in v else v.get("input", "").encode()
        if v.get("reason") == "bad_signature" or v["kind"] == "key":
            skipped += 1
            continue
        try:
            want = v.get("result", {})
            if v["kind"] == "record":
                ok = verify.record(raw.decode())["id"] == want.get("id")
                ok = ok and base64.b64encode(verify.sha(b"\x00", raw)).decode() == want.get("leaf")
            elif v["kind"] == "checkpoint":
                ok = verify.checkpoint(raw.decode())[1] == int(want.get("size", -1))
            elif v["kind"] == "note":
                ok = verify.note(raw.decode(), v["key"])[1] == int(want.get("size", -1))
            else:
                apart = v["text"].encode() if "text" in v else None
                fields = verify_json.parse(raw) if raw.startswith(b"{") else verify.parse(raw)
                got = verify.verify(fields, v.get("key"), v.get("root"), v.get("id"), apart)
                ok = all(got[k] == want.get(k) for k in ("root", "id", "chunk", "chunks"))
                ok = ok and (not got["log"] or got["log"] == [want["publisher"] + "/" + want["corpus"], want["log_size"]])
        except verify.REFUSED:
            ok = not v["valid"]
        checked += 1
        if not ok:
            failed += 1
            print("FAIL", v["kind"], v["name"], "want", v["valid"])
    print(f"{checked} vectors checked, {skipped} need Ed25519, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(1 if run_vectors(sys.argv[1:]) else 0)
