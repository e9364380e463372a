package document

import (
	"bytes"
	"crypto/sha256"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/restic/chunker"
)

// BenchmarkVersions measures what successive versions of documents cost. The
// folder ARBORIST_VERSIONS holds one folder for each set, which holds one for
// each version, oldest first by name. It reports per set, for each way to cut:
// the share of chunks and of bytes of the later versions that some version
// before them has not.
func BenchmarkVersions(b *testing.B) {
	root := os.Getenv("ARBORIST_VERSIONS")
	if root == "" {
		b.Skip("set ARBORIST_VERSIONS to a folder of versions")
	}
	sets, err := os.ReadDir(root)
	if err != nil {
		b.Fatal(err)
	}
	for _, set := range sets {
		versions := readVersions(b, filepath.Join(root, set.Name()))
		for _, way := range []struct {
			name string
			cut  func(*Document) [][]byte
		}{{"block-v1", blocks}, {"fixed", fixed}, {"gear", gear}, {"restic", restic}, {"restic-small", resticSmall}, {"file", whole}} {
			b.Run(set.Name()+"/"+way.name, func(b *testing.B) {
				for b.Loop() {
					reportVersions(b, versions, way.cut)
				}
			})
		}
	}
}

func reportVersions(b *testing.B, versions [][]*Document, cut func(*Document) [][]byte) {
	seen := make(map[[32]byte]bool)
	var chunks, total, newChunks, newBytes, hashes float64
	for i, docs := range versions {
		for _, d := range docs {
			fresh := 0
			all := cut(d)
			for _, c := range all {
				h := sha256.Sum256(c)
				if i > 0 {
					chunks++
					total += float64(len(c))
				}
				if !seen[h] {
					seen[h] = true
					if fresh++; i > 0 {
						newChunks++
						newBytes += float64(len(c))
					}
				}
			}
			if fresh > 0 && i > 0 {
				hashes += float64(32 * len(all)) // the list of a document that changed
			}
		}
	}
	b.ReportMetric(total/chunks, "mean-bytes")
	b.ReportMetric(100*newChunks/chunks, "%new-chunks")
	b.ReportMetric(newBytes/1000, "kB-to-store")
	b.ReportMetric((newBytes+hashes)/1000, "kB-to-sync")
	b.ReportMetric(total/1000, "kB-whole")
}

// readVersions reads the text files of each version, in the order of their names.
func readVersions(b *testing.B, dir string) (versions [][]*Document) {
	folders, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, folder := range folders {
		base, err := filepath.EvalSymlinks(filepath.Join(dir, folder.Name()))
		if err != nil {
			b.Fatal(err)
		}
		var docs []*Document
		err = filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || !slices.Contains([]string{".md", ".go", ".txt", ".html", ".py"}, strings.ToLower(filepath.Ext(path))) {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if doc, err := New(text); err == nil { // an empty file is no document
				docs = append(docs, doc)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		versions = append(versions, docs)
	}
	return versions
}

func blocks(d *Document) (all [][]byte) {
	for i := range d.Chunks() {
		all = append(all, d.Chunk(i))
	}
	return all
}

// fixed cuts after every 1000 bytes, about the mean of block-v1.
func fixed(d *Document) [][]byte { return slices.Collect(slices.Chunk(d.Text(), 1000)) }

// whole does not cut.
func whole(d *Document) [][]byte { return [][]byte{d.Text()} }

// resticPolynomial is one of those that restic's chunker can use, made by its
// RandomPolynomial: each repository has another.
const resticPolynomial = chunker.Pol(0x3DA3358B4DC173)

// restic cuts as restic does, with its own bounds: 512 KiB to 8 MiB.
func restic(d *Document) [][]byte {
	return allChunks(chunker.New(bytes.NewReader(d.Text()), resticPolynomial))
}

// resticSmall is restic's chunker with the bounds of block-v1.
func resticSmall(d *Document) [][]byte {
	c := chunker.NewWithBoundaries(bytes.NewReader(d.Text()), resticPolynomial, 384, 1536)
	c.SetAverageBits(9) // behind the least size: about 900 bytes on the average
	return allChunks(c)
}

func allChunks(c *chunker.Chunker) (all [][]byte) {
	for {
		next, err := c.Next(nil)
		if err != nil {
			return all // io.EOF: memory gives no other
		}
		all = append(all, bytes.Clone(next.Data))
	}
}

// gear cuts where a rolling hash of the last bytes is small, as FastCDC's chunker
// does, with the bounds and the mean of block-v1.
func gear(d *Document) (all [][]byte) {
	const least, most, divisor = 384, 1536, 850
	var table [256]uint64
	r := rand.New(rand.NewPCG(1, 2))
	for i := range table {
		table[i] = r.Uint64()
	}
	text := d.Text()
	for len(text) > 0 {
		var h uint64
		n := 0
		for n < min(most, len(text)) {
			h = h<<1 + table[text[n]]
			if n++; n >= least && h < 1<<63/divisor*2 {
				break
			}
		}
		all = append(all, text[:n])
		text = text[n:]
	}
	return all
}
