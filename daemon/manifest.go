package daemon

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// manifestName is the file that ends a backup: a folder without it is none.
	manifestName    = "MANIFEST"
	manifestVersion = "arborist-backup/1"
	// maxManifest is room for many more files than a home has.
	maxManifest = 16 << 20
)

var errManifest = errors.New("no manifest of a backup")

// A manifest lists the files of a backup. docs/formats.md has its text form,
// which sha256sum -c can read.
type manifest struct {
	peer  string
	made  time.Time // UTC, whole seconds
	bytes int64     // of all files
	files []manifestFile
}

type manifestFile struct {
	name string   // relative to the home, with slashes
	sum  [32]byte // SHA-256
}

// encode returns the text form. Files go by name.
func (m manifest) encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n# peer %s\n# made %s\n# files %d\n# bytes %d\n", manifestVersion, m.peer, m.made.Format(time.RFC3339), len(m.files), m.bytes)
	slices.SortFunc(m.files, func(a, b manifestFile) int { return cmp.Compare(a.name, b.name) })
	for _, f := range m.files {
		fmt.Fprintf(&b, "%x  %s\n", f.sum, f.name)
	}
	return b.Bytes()
}

// parseManifest reads the text form, and nothing else: it is encoded again and
// compared.
func parseManifest(b []byte) (m manifest, err error) {
	if len(b) > maxManifest {
		return m, fmt.Errorf("%w: over %d bytes", errManifest, maxManifest)
	}
	rest := string(b)
	var head [5]string
	for i, want := range []string{manifestVersion, "peer ", "made ", "files ", "bytes "} {
		line, after, ok := strings.Cut(rest, "\n")
		value, found := strings.CutPrefix(line, "# "+want)
		if !ok || !found {
			return m, fmt.Errorf("%w: line %d is not \"# %s…\"", errManifest, i+1, want)
		}
		head[i], rest = value, after
	}
	m.peer = head[1]
	if m.peer == "" || strings.ContainsFunc(m.peer, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return m, fmt.Errorf("%w: a peer ID of %.80q", errManifest, m.peer)
	}
	made, err1 := time.Parse("2006-01-02T15:04:05Z", head[2])
	n, err2 := strconv.Atoi(head[3])
	total, err3 := strconv.ParseInt(head[4], 10, 64)
	if err := errors.Join(err1, err2, err3); err != nil || total < 0 {
		return m, fmt.Errorf("%w: %q, %q, %q", errManifest, head[2], head[3], head[4])
	}
	m.made, m.bytes = made, total
	for line := range strings.Lines(rest) {
		f, err := parseManifestLine(line)
		if err != nil {
			return m, err
		}
		if k := len(m.files); k > 0 && m.files[k-1].name >= f.name {
			return m, fmt.Errorf("%w: %.200q is not in order", errManifest, f.name)
		}
		m.files = append(m.files, f)
	}
	if len(m.files) != n {
		return m, fmt.Errorf("%w: %d files, it says %d", errManifest, len(m.files), n)
	}
	if !bytes.Equal(m.encode(), b) {
		return m, fmt.Errorf("%w: not in its one spelling", errManifest)
	}
	return m, nil
}

func parseManifestLine(line string) (f manifestFile, err error) {
	sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
	n, err := hex.Decode(f.sum[:], []byte(sum[:min(len(sum), 2*len(f.sum))]))
	if !ok || err != nil || n != len(f.sum) || len(sum) != 2*len(f.sum) {
		return f, fmt.Errorf("%w: line %.80q has no SHA-256", errManifest, line)
	}
	f.name = name
	return f, checkBackupName(name)
}

// checkBackupName says whether a file may be in a backup: inside the home, in
// one of its places, with a name that one line can hold.
func checkBackupName(name string) error {
	place, below, _ := strings.Cut(name, "/")
	known := name == "config.toml" || name == "peers.json" || below != "" && slices.Contains(backupFolders(), place)
	printable := utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || !unicode.IsPrint(r) })
	if !known || !printable || path.Clean(name) != name || len(name) > 1024 {
		return fmt.Errorf("%w: a file called %.200q", errManifest, name)
	}
	return nil
}

// backupFolders are the folders of a home that are in a backup.
func backupFolders() []string { return []string{"shards", "crawl", "keys", "private", "evidence"} }
