package daemon

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"
	"time"
)

func aManifest() manifest {
	return manifest{peer: "12D3KooWExample", made: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), bytes: 7, files: []manifestFile{
		{"shards/00.db", sha256.Sum256([]byte("00"))}, {"config.toml", sha256.Sum256(nil)}, {"private/a b/ü.txt", sha256.Sum256([]byte("ü"))},
	}}
}

func TestAManifestHasOneSpelling(t *testing.T) {
	text := string(aManifest().encode())
	m, err := parseManifest([]byte(text))
	if err != nil || m.bytes != 7 || len(m.files) != 3 || m.files[0].name != "config.toml" || m.peer != "12D3KooWExample" {
		t.Fatalf("%+v, %v", m, err)
	}
	for name, bad := range map[string]string{
		"empty":          "",
		"upper case":     strings.Replace(text, "e3b0", "E3B0", 1),
		"no last line":   strings.TrimSuffix(text, "\n"),
		"one more line":  text + "\n",
		"carriage":       strings.ReplaceAll(text, "\n", "\r\n"),
		"order":          strings.Replace(strings.Replace(text, "config.toml", "shards/zz", 1), "shards/00.db", "config.toml", 1),
		"twice":          strings.Replace(text, "private/a b/ü.txt", "config.toml", 1),
		"leading zero":   strings.Replace(text, "files 3", "files 03", 1),
		"plus":           strings.Replace(text, "bytes 7", "bytes +7", 1),
		"negative":       strings.Replace(text, "bytes 7", "bytes -7", 1),
		"local time":     strings.Replace(text, "08:00:00Z", "08:00:00+00:00", 1),
		"fraction":       strings.Replace(text, "08:00:00Z", "08:00:00.5Z", 1),
		"up":             strings.Replace(text, "shards/00.db", "shards/../../x", 1),
		"absolute":       strings.Replace(text, "shards/00.db", "/shards/00.db", 1),
		"folder":         strings.Replace(text, "shards/00.db", "shards/", 1),
		"only folder":    strings.Replace(text, "shards/00.db", "shards", 1),
		"other place":    strings.Replace(text, "shards/00.db", "sharks/00.db", 1),
		"below config":   strings.Replace(text, "config.toml", "config.toml/x", 1),
		"control":        strings.Replace(text, "00.db", "00\x1b.db", 1),
		"backslash":      strings.Replace(text, "00.db", "00\\.db", 1),
		"not UTF-8":      strings.Replace(text, "00.db", "00\xff.db", 1),
		"no peer":        strings.Replace(text, "12D3KooWExample", "", 1),
		"short hash":     strings.Replace(text, "e3b0", "e3b", 1),
		"binary sums":    strings.Replace(text, "  config", " *config", 1),
		"other version":  strings.Replace(text, "backup/1", "backup/2", 1),
		"name too long":  strings.Replace(text, "00.db", strings.Repeat("x", 1100), 1),
		"over the limit": text + strings.Repeat("x", maxManifest),
	} {
		if m, err := parseManifest([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(aManifest().encode())
	f.Add(manifest{peer: "x", made: time.Unix(0, 0).UTC()}.encode())
	f.Add([]byte("# arborist-backup/1\n# peer x\n# made 2026-11-30T08:00:00Z\n# files 0\n# bytes 0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseManifest(b)
		if err != nil {
			return
		}
		if !bytes.Equal(m.encode(), b) {
			t.Errorf("%q is read as %q", b, m.encode())
		}
		for _, file := range m.files {
			if err := checkBackupName(file.name); err != nil {
				t.Error(err)
			}
		}
	})
}
