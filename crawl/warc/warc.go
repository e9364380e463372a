// Package warc writes what a crawl was answered to WARC 1.1 files
// (https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/).
//
// A [Writer] guarantees that
//
//   - each record is a gzip member of its own, and a request and its answer
//     go out in one write: a process that is killed leaves files that every
//     reader reads, at worst up to a cut in the last one;
//   - a file is never appended to by a later run: each opens files of its own;
//   - files are for their owner alone (0600), as is a folder that is made for
//     them: they hold what was crawled;
//   - headers that carry secrets are left out, see [Secret];
//   - a body that was written before, byte for byte, is not written again: its
//     record is a revisit that names the first.
//
// Bodies are as they were sent, content codings included. A page that a
// service brought is a resource record, since nobody here saw the exchange.
package warc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"arborist/crawl/fetch"
)

// ErrClosed: the writer was closed.
var ErrClosed = errors.New("archive is closed")

// Config configures [Create]. Only Dir is needed.
type Config struct {
	Dir       string
	Software  string // for the warcinfo record; "": "Arborist"
	UserAgent string // that the crawl names itself with; "": left out
	MaxSize   int64  // bytes of a file after which another is begun; 0: 1 GiB

	// Known is how many bodies are remembered to tell a revisit; 0: 50,000,
	// about 15 MB.
	Known int
}

// A Writer writes WARC files. It is safe for concurrent use.
type Writer struct {
	cfg   Config
	begun string // of the run, in file names

	mu     sync.Mutex // guards all below
	file   *os.File
	size   int64
	serial int
	infoID string
	known  map[string]origin // by payload digest
	some   bool              // anything was recorded
	err    error             // the first failure; nothing is written after it
	files  []string
}

// An origin is where a body was first seen.
type origin struct{ id, uri, date string }

var _ fetch.Recorder = (*Writer)(nil)

// Create makes the folder, if it is not there, and begins the first file.
func Create(cfg Config) (*Writer, error) {
	if cfg.Software == "" {
		cfg.Software = "Arborist"
	}
	if cfg.MaxSize <= 0 {
		cfg.MaxSize = 1 << 30
	}
	if cfg.Known <= 0 {
		cfg.Known = 50_000
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for WARC files: %w", err)
	}
	w := &Writer{cfg: cfg, begun: time.Now().UTC().Format("20060102T150405Z"), known: map[string]origin{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.open(); err != nil {
		return nil, err
	}
	return w, nil
}

// open begins the next file, which nobody has written to.
func (w *Writer) open() error {
	for {
		name := fmt.Sprintf("arborist-%s-%05d.warc.gz", w.begun, w.serial)
		w.serial++
		path := filepath.Join(w.cfg.Dir, name)
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
		if errors.Is(err, os.ErrExist) && w.serial < 100_000 {
			continue
		}
		if err != nil {
			return fmt.Errorf("begin a WARC file: %w", err)
		}
		w.file, w.size, w.infoID = f, 0, newID()
		w.files = append(w.files, path)
		return w.put(w.info(name).member())
	}
}

func (w *Writer) info(name string) record {
	r := record{kind: "warcinfo", id: w.infoID, date: stamp(time.Now())}
	r.add("WARC-Filename", name)
	r.add("Content-Type", "application/warc-fields")
	text := "software: " + line(w.cfg.Software) + "\r\nformat: WARC File Format 1.1\r\n" +
		"conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\nrobots: obey\r\n"
	if w.cfg.UserAgent != "" {
		text += "http-header-user-agent: " + line(w.cfg.UserAgent) + "\r\n"
	}
	r.block = []byte(text)
	return r
}

// Record implements [fetch.Recorder].
func (w *Writer) Record(ex fetch.Exchange) error {
	digest := digestOf(ex.Body)
	w.mu.Lock()
	first, seen := w.known[digest]
	info, err := w.infoID, w.err
	w.mu.Unlock()
	if err != nil {
		return err
	}
	var again *origin
	if seen && !ex.Cut && len(ex.Body) > 0 {
		again = &first
	}
	records := recordsOf(ex, digest, info, again)
	var out []byte // compressed outside of the lock
	for _, r := range records {
		out = append(out, r.member()...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if w.size+int64(len(out)) > w.cfg.MaxSize && w.size > 0 {
		if err := w.rotate(); err != nil {
			return w.fail(err)
		}
	}
	if err := w.put(out); err != nil {
		return w.fail(err)
	}
	w.some = true
	if !seen && !ex.Cut && len(w.known) < w.cfg.Known {
		w.known[digest] = origin{records[0].id, ex.URL, records[0].date}
	}
	return nil
}

// put appends whole members in one write, or takes back what came of it.
func (w *Writer) put(members []byte) error {
	if _, err := w.file.Write(members); err != nil {
		err = fmt.Errorf("write %s: %w", w.file.Name(), err)
		return errors.Join(err, w.file.Truncate(w.size))
	}
	w.size += int64(len(members))
	return nil
}

func (w *Writer) fail(err error) error {
	w.err = err
	return err
}

// rotate finishes a file and begins the next.
func (w *Writer) rotate() error {
	if err := w.finish(); err != nil {
		return err
	}
	return w.open()
}

func (w *Writer) finish() error {
	if err := errors.Join(w.file.Sync(), w.file.Close(), syncNames(w.cfg.Dir)); err != nil {
		return fmt.Errorf("finish %s: %w", w.file.Name(), err)
	}
	return nil
}

// syncNames makes the names of the files in a folder durable: a synced file whose name
// a power cut takes is lost.
func syncNames(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Files gives the paths of the files so far.
func (w *Writer) Files() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.files...)
}

// Close makes what was written durable; where nothing was recorded it takes the
// empty file away. It returns the first failure of any record.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(w.err, ErrClosed) {
		return nil
	}
	err := errors.Join(w.err, w.finish())
	w.err = ErrClosed
	if !w.some {
		err = errors.Join(err, os.Remove(w.file.Name()))
		w.files = nil
	}
	return err
}
