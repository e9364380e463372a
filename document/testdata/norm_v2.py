"""norm-v2, written a second time from docs/formats.md, as an oracle.

Reads one text a line in hexadecimal and writes its canonical form likewise.
Called with "unassigned" it writes the ranges that this Python's Unicode has
not assigned, because its version differs from 15.0.
"""
import re
import sys
import unicodedata

SPACE = "\t \u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def assigned(c):
    return unicodedata.category(c) != "Cn"


def nfc(text):
    out, run = [], []
    for c in text:
        if assigned(c):
            run.append(c)
        else:
            out += [unicodedata.normalize("NFC", "".join(run)), c]
            run = []
    return "".join(out) + unicodedata.normalize("NFC", "".join(run))


def line(text):
    body = text.lstrip(SPACE)
    indent = text[: len(text) - len(body)]
    indent = "".join("\t" if c == "\t" else " " for c in indent)
    return (indent + re.sub(f"[{SPACE}]+", " ", body)).rstrip(" \t")


def norm_v2(raw):
    text = raw.decode("utf-8", "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = "".join(c for c in text if c in "\n\t" or not (c < " " or "\x7f" <= c <= "\x9f"))
    text = nfc(text)
    text = "\n".join(line(part) for part in text.split("\n"))
    text = re.sub("\n{3,}", "\n\n", text)
    text = re.sub("[ \t\n\ufeff]*", "", text, count=1)
    return text.rstrip(" \t\n").encode()


if sys.argv[1:] == ["unassigned"]:
    start = None
    for c in range(0x110001):
        if c < 0x110000 and not assigned(chr(c)):
            start = c if start is None else start
        elif start is not None:
            print(f"{start:x} {c - 1:x}")
            start = None
else:
    for hexadecimal in sys.stdin:
        print(norm_v2(bytes.fromhex(hexadecimal)).hex(), flush=True)
