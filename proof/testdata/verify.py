#!/usr/bin/env python3
"""Verifies Arborist proof files by docs/formats.md, with the standard library alone.

    verify.py FILE [ROOT]         prints what FILE shows, or why it is refused

It shares no code with Arborist. It checks every hash and every spelling, and that a signature line of the key is
there; the signature itself it does NOT check, because Python's standard library has no Ed25519.
"""
import base64, datetime, hashlib, json, re, sys

PRINTED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # what no record may hold

REFUSED = (ValueError, KeyError, TypeError, AttributeError)  # what bad input raises


def need(ok, why):
    if not ok:
        raise ValueError(why)


def sha(data): return hashlib.sha256(data).digest()
def leaf(data): return sha(b"\x00" + data)
def node(left, right): return sha(b"\x01" + left + right)
def b64(raw): return base64.b64encode(raw).decode()
def cid(h): return "b" + base64.b32encode(b"\x01\x55\x12\x20" + h).decode().lower().rstrip("=")


def uncid(text):
    need(re.fullmatch("b[a-z2-7]{58}", text), "not a CID")
    raw = base64.b32decode(text[1:].upper() + "======")
    need(cid(raw[4:]) == text and any(raw[4:]), "not a CID of ours")
    return raw[4:]


def unb64(text):
    raw = base64.b64decode(text, validate=True)
    need(b64(raw) == text, "second spelling of base64")
    return raw


def number(text):
    need(re.fullmatch("0|[1-9][0-9]{0,18}", text) and int(text) < 2**63, "not a number")
    return int(text)


def root_of(h, index, size, path):  # RFC 9162, 2.1.3.2
    need(index < size, "index is not below size")
    fn, sn = index, size - 1
    for p in path:
        need(sn > 0, "path too long")
        if fn & 1 or fn == sn:
            h = node(p, h)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            h = node(h, p)
        fn, sn = fn >> 1, sn >> 1
    need(sn == 0, "path too short")
    return h


def header(root, chunks, size, norm, chunker):
    need(1 <= chunks <= size <= 64 << 20, "impossible counts")
    need(all(re.fullmatch("[a-z0-9-]{1,32}", n) for n in (norm, chunker)), "not a format name")
    uncid(root)
    return f"arborist-document/1\nroot {root}\nchunks {chunks}\nbytes {size}\nnorm {norm}\nchunker {chunker}\n"


LISTING = "op id root chunks bytes norm chunker uri title source fetched".split()
KEYS = {"add": LISTING, "supersede": LISTING + ["supersedes"], "withdraw": ["op", "id", "uri", "fetched"]}


def record(line):
    r = json.loads(line)
    need(json.dumps(r, ensure_ascii=False, separators=(",", ":")) == line and len(line.encode()) <= 16 << 10, "spelling of the record")
    need(list(r) == KEYS.get(r.get("op")), "keys of the record")
    need(all(type(v) is (int if k in ("chunks", "bytes") else str) for k, v in r.items()), "types of the record")
    need(not any(PRINTED.search(v) for v in r.values() if type(v) is str), "control character in the record")
    for key, least, most in (("uri", 1, 8192), ("title", 0, 1024), ("source", 0, 64)):
        need(least <= len(r.get(key, "x").encode()) <= most, "length of " + key)
    need(re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", r["fetched"]) and r["fetched"] > "0001-01-01T00:00:00Z", "time")
    datetime.datetime.strptime(r["fetched"], "%Y-%m-%dT%H:%M:%SZ")
    need(not r["fetched"].endswith(":60Z") and not r["fetched"].endswith(":61Z"), "leap second")
    uncid(r["id"])
    if r["op"] != "withdraw":
        r["header"] = header(r["root"], r["chunks"], r["bytes"], r["norm"], r["chunker"])
        need(cid(sha(r["header"].encode())) == r["id"], "the ID is not the header's hash")
    need(r["op"] != "supersede" or uncid(r["supersedes"]) != uncid(r["id"]), "supersedes itself")
    return r


def checkpoint(text):
    origin, size, root, end = text.split("\n")
    need(end == "" and 0 < len(origin.encode()) <= 255 and origin.isprintable() and not re.search(r"[+\s]", origin), "origin")
    need(len(unb64(root)) == 32 and any(unb64(root)), "root of the log")
    need(number(size) > 0 or unb64(root) == sha(b""), "root of an empty log")
    return origin, number(size), unb64(root)


def note(text, key=None):
    text, lines = text[: text.rindex("\n\n") + 1], text[text.rindex("\n\n") + 2 :]
    need(lines.endswith("\n") and lines.count("\n") <= 100 and not re.search("[\x00-\x09\x0b-\x1f]", text + lines), "note")
    seen = []
    for line in lines[:-1].split("\n"):
        m = re.fullmatch(r"— ([^\s+]+) (\S+)", line)
        need(m and len(unb64(m[2])) >= 5, "signature line")
        seen.append((m[1], unb64(m[2])[:4].hex()))
    if key:
        need(seen.count(tuple(key.split("+")[:2])) == 1, "no signature line of the key, or two")
        need(text.startswith(key.split("+")[0] + "\n"), "checkpoint of another corpus")
    return checkpoint(text)


def encode_json(t):  # t: the fields in order; as encoding/json of Go escapes them
    s = json.dumps(t, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda m: "\\u%04x" % ord(m[0]), s).encode()


def text_form(t):  # of the JSON form
    tail = "document %s\n%s" % (t["document"], t["header"]) if "header" in t else \
        "%s\nc2sp.org/tlog-proof@v1\nindex %d\n%s\n%s" % (t["record"], t["index"], "".join(h + "\n" for h in t["hashes"]), t["checkpoint"])
    head = "%s\nchunk %d\n%s\n" % (t["format"], t["chunk"], "".join(h + "\n" for h in t["path"]))
    passage = unb64(t["passage"]) if "passage" in t else None
    return (head + tail).encode() + (b"passage %d\n" % len(passage) + passage if passage is not None else b"")


def verify(file, key=None, root=None, ID=None, apart=None):
    rest, fields = file, None
    if file.startswith(b"{"):
        rest = text_form(json.loads(file))

    def line():
        nonlocal rest
        need(b"\n" in rest, "cut off")
        first, rest = rest.split(b"\n", 1)
        return first.decode()

    def value(name):
        first = line()
        need(first.startswith(name + " "), "want " + name)
        return first[len(name) + 1 :]

    def path():
        hashes = []
        while h := line():
            need(len(unb64(h)) == 32 and len(hashes) < 63, "path")
            hashes.append(h)
        return hashes

    need(line() == "arborist-proof/1", "version")
    fields = {"format": "arborist-proof/1", "chunk": number(value("chunk")), "path": path()}
    log = None
    if rest.startswith(b"{"):
        fields["record"] = line()
        rec = record(fields["record"])
        need(rec["op"] != "withdraw", "the record lists nothing")
        need(line() == "c2sp.org/tlog-proof@v1", "tlog-proof")
        fields.update(index=number(value("index")), hashes=path(), checkpoint="".join(line() + "\n" for _ in range(4)))
        while rest.startswith("— ".encode()):
            fields["checkpoint"] += line() + "\n"
        origin, size, log_root = note(fields["checkpoint"], key)
        need(size > 0 and all(origin.partition("/")[::2]), "empty log, or no PEER/NAME")
        at = root_of(leaf(fields["record"].encode()), fields["index"], size, map(unb64, fields["hashes"]))
        need(at == log_root, "the record is not in the log")
        head, log = rec["header"], (origin, size)
    else:
        need(key is None, "no corpus, but a key")
        fields.update(document=value("document"), header="".join(line() + "\n" for _ in range(6)))
        head = fields["header"]
    m = re.fullmatch("arborist-document/1\nroot (.*)\nchunks ([0-9]+)\nbytes ([0-9]+)\nnorm (.*)\nchunker (.*)\n", head)
    need(m and header(m[1], number(m[2]), number(m[3]), m[4], m[5]) == head, "header")
    doc_id, chunks = cid(sha(head.encode())), int(m[2])
    need(fields.get("document", doc_id) == doc_id, "header of another document")
    passage = apart
    if rest:
        need(number(value("passage")) == len(rest) > 0, "length of the passage")
        passage, fields["passage"] = rest, b64(rest)
        need(apart is None or apart == passage, "two passages")
    need(not file.startswith(b"{") or encode_json(fields) == file, "second spelling of JSON")
    need(passage, "no passage")
    need(root_of(leaf(passage), fields["chunk"], chunks, map(unb64, fields["path"])) == uncid(m[1]), "the passage is not in the document")
    need(len(passage) == int(m[3]) if chunks == 1 else len(passage) <= int(m[3]) - chunks + 1, "length of the passage")
    need(root in (None, m[1]) and ID in (None, doc_id), "another document than expected")
    return {"root": m[1], "id": doc_id, "chunk": fields["chunk"], "chunks": chunks, "log": log if key else None}


if __name__ == "__main__":
    try:
        data = open(sys.argv[1], "rb").read()
        data = data[:-1] if data.startswith(b"{") and data.endswith(b"}\n") else data
        print(json.dumps(verify(data, root=(sys.argv[2:] or [None])[0])))
    except REFUSED as e:
        sys.exit(f"refused: {e}")
