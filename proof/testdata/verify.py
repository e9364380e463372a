#!/usr/bin/env python3
"""Verifies an Arborist proof in the text form, by docs/formats.md: verify.py FILE [ROOT] [KEY]

It shares no code with Arborist and needs Python's standard library alone. As that has no Ed25519, of the signatures it
checks only that there is one line of the key, and says so."""
import base64, datetime, hashlib, json, re, sys

REFUSED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)  # what bad input raises
FILE = re.compile(rb"""arborist-proof/2\nchunk\ (?P<chunk>.*)\n(?P<path>(?:.+\n){0,63})\n
    (?:document\ (?P<document>.*)\n(?P<header>(?:.*\n){6})
    |(?P<record>\{.*)\nc2sp\.org/tlog-proof@v1\nindex\ (?P<index>.*)\n(?P<hashes>(?:.+\n){0,63})\n
     (?P<checkpoint>(?:.*\n){3}\n(?:\xe2\x80\x94\ .*\n)+))
    (?:passage\ (?P<length>.*)\n(?P<passage>(?s:.+)))?""", re.VERBOSE)
HEADER = "arborist-document/1\nroot (.+)\nchunks (.+)\nbytes (.+)\nnorm ([a-z0-9-]{1,32})\nchunker ([a-z0-9-]{1,32})\n"
LISTING = "op id root chunks bytes norm chunker uri title source fetched"
KEYS = {"add": LISTING, "supersede": LISTING + " supersedes", "withdraw": "op id uri fetched"}
LENGTHS = {"uri": (1, 8192), "title": (0, 1024), "source": (0, 64)}  # in bytes

def need(ok, why):
    if not ok:
        raise ValueError(why)
def sha(*parts): return hashlib.sha256(b"".join(parts)).digest()
def cid(h): return "b" + base64.b32encode(b"\x01\x55\x12\x20" + h).decode().lower().rstrip("=")
def uncid(text):
    h = base64.b32decode(text[1:].upper() + "======")[4:]
    need(cid(h) == text and len(h) == 32 and any(h), "not a CID of ours")
    return h
def unb64(text, length=None):
    raw = base64.b64decode(text, validate=True)
    need(base64.b64encode(raw).decode() == text and length in (None, len(raw)), "not base64 as it should be")
    return raw
def number(text):
    need(re.fullmatch("0|[1-9][0-9]{0,18}", text) and int(text) < 2**63, "not a number")
    return int(text)

def root_of(h, index, size, path):  # "Inclusion path" in docs/formats.md
    inner = (index ^ (size - 1)).bit_length()
    need(index < size and len(path) == inner + bin(index >> inner).count("1"), "no path from this index at this size")
    for i, sibling in enumerate(path):
        h = sha(b"\x01", sibling, h) if i >= inner or index >> i & 1 else sha(b"\x01", h, sibling)
    return h

def header(text):
    root, chunks, size = re.fullmatch(HEADER, text).groups()[:3]
    need(1 <= number(chunks) <= number(size) <= 64 << 20 and uncid(root), "impossible counts")
    return root, int(chunks), int(size)

def header_of(r): return "arborist-document/1\n" + "".join(f"{k} {r[k]}\n" for k in LISTING.split()[2:7])
def id_of(r): return cid(sha(header_of(r).encode()))

def record(line):
    need(len(line.encode()) <= 16384, "long record")
    r = json.loads(line)
    need(json.dumps(r, ensure_ascii=False, separators=(",", ":")) == line, "second spelling of the record")
    need(" ".join(r) == KEYS[r["op"]] and uncid(r["id"]), "keys of the record")
    need(all(type(v) is (int if k in ("chunks", "bytes") else str) for k, v in r.items()), "types of the record")
    need(not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029]", "".join(map(str, r.values()))), "controls in the record")
    need(all(min <= len(r.get(k, "?").encode()) <= max for k, (min, max) in LENGTHS.items()), "lengths in the record")
    time = datetime.datetime.fromisoformat(r["fetched"][:-1])
    need(r["fetched"] == time.isoformat("T", "seconds") + "Z" and time > datetime.datetime.min, "time of the record")
    need(r["op"] == "withdraw" or header(header_of(r)) and id_of(r) == r["id"], "the ID is not the header's hash")
    need(r["op"] != "supersede" or uncid(r["supersedes"]) != uncid(r["id"]), "supersedes itself")
    return r

def checkpoint(text):
    origin, size, root = re.fullmatch(r"([^\s+]+)\n(.+)\n(.+)\n", text).groups()
    need(origin.isprintable() and len(origin.encode()) <= 255, "origin")
    need(any(unb64(root, 32)) and (number(size) or unb64(root) == sha()), "root of the log")
    return origin, number(size), unb64(root)

def note(note, key=None):
    text, lines = re.fullmatch(r"((?s:.*)\n)\n((?:— [^\s+]+ \S+\n){1,100})", note).groups()
    need(len(note.encode()) <= 262144 and not re.search("[\x00-\x09\x0b-\x1f]", note), "length or controls of the note")
    signed = [(name, unb64(raw)) for _, name, raw in map(str.split, lines.splitlines())]
    need(all(len(raw) >= 5 for _, raw in signed), "short signature line")
    if key:  # NAME+KEYID+BASE64, and the name is the origin
        name, ID, public = re.fullmatch("([^+]+)[+](.{8})[+](.+)", key).groups()
        need(ID == sha(name.encode(), b"\n", unb64(public, 33))[:4].hex() and unb64(public)[0] == 1, "not a corpus key")
        need([[name, raw[:4].hex()] for name, raw in signed].count(key.split("+")[:2]) == 1, "not one line of the key")
        need(text.startswith(key.split("+")[0] + "\n"), "checkpoint of another corpus")
    return checkpoint(text)

def parse(file):  # gives the fields in the order of the JSON form
    f = {k: v if k == "passage" else v.decode() for k, v in FILE.fullmatch(file).groupdict().items() if v is not None}
    f.update({k: number(f[k]) for k in ("chunk", "index", "length") if k in f})
    f.update({k: [unb64(h, 32) for h in f[k].split("\n")[:-1]] for k in ("path", "hashes") if k in f})
    need(f.pop("length", 0) == len(f.get("passage", "")) <= 1 << 20 and len(file) <= 4 << 20, "length of the passage")
    return f

def verify(f, key=None, root=None, ID=None, apart=None):  # f: what parse gave; the others: what the reader knows
    origin, log_size, log_root = note(f["checkpoint"], key) if "record" in f else (None, None, None)
    if origin:
        need(all(origin.partition("/")[::2]), "the origin is not PEER/NAME")
        line = f["record"].replace('","root":', '","id":"%s","root":' % id_of(json.loads(f["record"])), 1)  # as logged
        need(root_of(sha(b"\0", line.encode()), f["index"], log_size, f["hashes"]) == log_root, "record not in the log")
    need(origin or not key, "in no corpus, but a key is given")
    head = header_of(record(line)) if origin else f["header"]  # a withdraw has none
    (doc_root, chunks, size), doc, passage = header(head), cid(sha(head.encode())), f.get("passage", apart)
    need(f.get("document", doc) == doc, "header of another document")
    need(passage and apart in (None, passage), "no passage, or two")
    need(len(passage) == size if chunks == 1 else len(passage) <= size - chunks + 1, "length of the passage")
    need(root_of(sha(b"\x00", passage), f["chunk"], chunks, f["path"]) == uncid(doc_root), "not in the document")
    need(root in (None, doc_root) and ID in (None, doc), "another document than expected")
    return {"root": doc_root, "id": doc, "chunk": f["chunk"], "chunks": chunks, "log": key and [origin, log_size],
            "signature": "not checked"}

def known(words): return {"key" if "+" in w else "root": w for w in words}  # from the command line

if __name__ == "__main__":
    try:
        print(json.dumps(verify(parse(open(sys.argv[1], "rb").read()), **known(sys.argv[2:]))))
    except REFUSED as e:
        sys.exit(f"refused: {e}")
