#!/usr/bin/env python3
"""Verifies an Arborist proof in the JSON form, the twin of the text form: verify_json.py FILE [ROOT] [KEY]"""
import base64, json, re, sys

import verify


def encode(fields):  # as encoding/json of Go escapes them
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda m: "\\u%04x" % ord(m[0]), text).encode()


def text_form(t):
    lines = lambda hashes: "".join(h + "\n" for h in hashes)
    head = f"{t['format']}\nchunk {t['chunk']}\n{lines(t['path'])}\n"
    if "header" in t:
        head += f"document {t['document']}\n{t['header']}"
    else:
        head += f"{t['record']}\nc2sp.org/tlog-proof@v1\nindex {t['index']}\n{lines(t['hashes'])}\n{t['checkpoint']}"
    passage = verify.unb64(t["passage"]) if "passage" in t else None
    return head.encode() + (b"passage %d\n" % len(passage) + passage if passage is not None else b"")


def parse(file):
    fields = verify.parse(text_form(json.loads(file)))
    b64 = lambda raw: base64.b64encode(raw).decode()
    twin = {k: list(map(b64, v)) if type(v) is list else b64(v) if k == "passage" else v for k, v in fields.items()}
    verify.need(encode({"format": "arborist-proof/2", **twin}) == file, "second spelling of JSON")
    return fields


if __name__ == "__main__":
    try:
        file = open(sys.argv[1], "rb").read()
        file = file[:-1] if file.endswith(b"}\n") else file  # every tool adds it
        print(json.dumps(verify.verify(parse(file), **verify.known(sys.argv[2:]))))
    except verify.REFUSED as e:
        sys.exit(f"refused: {e}")
