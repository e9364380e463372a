package shard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"arborist/document"
	"arborist/shard/corpus"
)

// MaxShards is the most files that a set has.
const MaxShards = 256

// CorporaName is the file of corpus logs beside the shards.
const CorporaName = "corpora.db"

// ErrLogs: the file of corpora cannot be used. [SalvageShared] mends it.
var ErrLogs = errors.New("the logs of the corpora cannot be used")

// A Shared is the set of peer-shared files of a folder, with the logs of its
// corpora. It holds nothing private: [OpenShared] makes it, nothing else does.
// It is safe for concurrent use.
type Shared struct {
	dir     string
	corpora *corpus.Store

	// Whoever takes several tokens takes them in this order, and enters the gate last.
	upkeep     chan struct{} // holds one token; who has it may check, compact or split
	publishing chan struct{} // holds one token; who has it may publish
	turn       chan struct{} // holds one token; who has it may write; that of each file

	atStep func()  // nil, or called at each step of a split that a crash may come after
	gate   gate    // guards files: a split changes them
	files  []*File // guarded by gate
}

// fileName is the name of a shard: its number in hexadecimal, "00.db" to
// "ff.db".
func fileName(number int) string { return fmt.Sprintf("%02x.db", number) }

// shardName matches whatever could be taken for a shard.
var shardName = regexp.MustCompile(`^[0-9a-fA-F]+\.db$`)

// OpenShared opens the set of shards of a folder. It refuses, naming the file:
// a file of another kind ([ErrKind]), above all a private one; anything but a
// plain file with a single name ([ErrUnsafe]); a newer schema ([ErrNewer]); a
// set that is not complete or not one set ([ErrSet]).
func OpenShared(dir string) (*Shared, error) {
	s, err := openShared(dir, openFiles, openLogs)
	if err != nil {
		return nil, fmt.Errorf("open shards in %s: %w", dir, err)
	}
	return s, nil
}

func openShared(dir string, open func(dir string) ([]*File, error), openLogs func(path string) (*corpus.Store, error)) (*Shared, error) {
	if err := settleFolder(dir); err != nil {
		return nil, err
	}
	files, err := open(dir)
	if err != nil {
		return nil, err
	}
	store, err := openLogs(filepath.Join(dir, CorporaName))
	if err != nil {
		return nil, errors.Join(err, closeFiles(files))
	}
	s := &Shared{dir: dir, corpora: store, publishing: newToken(), upkeep: newToken(), turn: newToken()}
	s.use(files)
	return s, nil
}

// openLogs opens the file of corpora, which is made where there is none.
func openLogs(path string) (store *corpus.Store, err error) {
	for _, suffix := range append([]string{""}, sidecars[:]...) {
		if perr := plain(path + suffix); perr != nil && !errors.Is(perr, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("%s: %w", CorporaName+suffix, perr))
		}
	}
	if err == nil {
		store, err = corpus.Open(path)
	}
	if isBroken(err) || errors.Is(err, corpus.ErrCorrupt) || errors.Is(err, corpus.ErrForeign) {
		err = fmt.Errorf("%w: %w", ErrLogs, err)
	}
	if err != nil {
		return nil, &FileError{Path: path, Err: damage(err)}
	}
	return store, nil
}

// newToken returns a channel with the one token that it holds.
func newToken() chan struct{} {
	c := make(chan struct{}, 1)
	c <- struct{}{}
	return c
}

// take takes tokens, in this order, and returns what gives them back.
func take(ctx context.Context, tokens ...chan struct{}) (release func(), err error) {
	for i, token := range tokens {
		select {
		case <-token:
		case <-ctx.Done():
			for _, taken := range tokens[:i] {
				taken <- struct{}{}
			}
			return nil, ctx.Err()
		}
	}
	return func() {
		for _, token := range tokens {
			token <- struct{}{}
		}
	}, nil
}

// use makes files those of the set.
func (s *Shared) use(files []*File) {
	for _, f := range files {
		f.turn = s.turn
	}
	s.files = files
}

// openFiles opens every shard of a folder, after all of them were looked at.
func openFiles(dir string) (files []*File, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	n, err := countShards(dir)
	if err != nil {
		return nil, err
	}
	files = make([]*File, n)
	err = each(n, func(i int) (err error) {
		if files[i], err = openShard(dir, i); err != nil {
			return err
		}
		if files[i].total != n {
			return files[i].fail(fmt.Errorf("%w: the file is one of %d, there are %d", ErrSet, files[i].total, n))
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, closeFiles(files))
	}
	for _, f := range files {
		f.workshop = files[0].workshop
	}
	return files, nil
}

// openShard opens one shard of a folder.
func openShard(dir string, number int) (*File, error) {
	path := filepath.Join(dir, fileName(number))
	kind, version, err := inspect(path)
	if err == nil {
		err = expect(kind, version, KindShared)
	}
	if err != nil {
		return nil, named(path, err)
	}
	f, err := attachFile(path, KindShared, version, "")
	if err != nil {
		return nil, named(path, err)
	}
	if f.number != number {
		f.Close()
		return nil, f.fail(fmt.Errorf("%w: the file is shard %s by what it says", ErrSet, fileName(f.number)))
	}
	return f, nil
}

// countShards counts the shards of a folder by name. Their numbers must be 0 to
// n-1, with n a power of two.
func countShards(dir string) (int, error) {
	there, err := shardNumbers(dir)
	if err != nil {
		return 0, err
	}
	n := len(there)
	if n == 0 {
		return 0, fmt.Errorf("%w: no shards in it", ErrNotFound)
	}
	for i := range n {
		if !there[i] {
			return 0, fmt.Errorf("%w: %s is missing, others are there", ErrSet, fileName(i))
		}
	}
	if n&(n-1) != 0 {
		return 0, fmt.Errorf("%w: %d files are not a power of two: some are missing or do not belong here", ErrSet, n)
	}
	return n, nil
}

// shardNumbers finds the shards of a folder by name.
func shardNumbers(dir string) (map[int]bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: no such folder", ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	there := make(map[int]bool)
	for _, e := range entries {
		name := e.Name()
		if !shardName.MatchString(name) {
			continue
		}
		number, err := strconv.ParseUint(name[:len(name)-len(".db")], 16, 16)
		if err != nil || number >= MaxShards || fileName(int(number)) != name {
			return nil, fmt.Errorf("%w: %s is no shard name; shards are 00.db to ff.db", ErrSet, name)
		}
		there[int(number)] = true
	}
	return there, nil
}

func closeFiles(files []*File) error {
	return each(len(files), func(i int) error {
		if files[i] == nil {
			return nil
		}
		return files[i].Close()
	})
}

// Close closes all files. Calls that still run end with an error.
func (s *Shared) Close() error { return errors.Join(closeFiles(s.files), s.corpora.Close()) }

// Dir returns the folder.
func (s *Shared) Dir() string { return s.dir }

// Shards returns the number of files.
func (s *Shared) Shards() int {
	s.gate.enter()
	defer s.gate.leave()
	return len(s.files)
}

// Files returns the files as they are now. A split closes them: see Hold.
func (s *Shared) Files() []*File {
	s.gate.enter()
	defer s.gate.leave()
	return slices.Clone(s.files)
}

// Hold returns the files in the order of the roots that they hold. They stay
// open, and the set as it is, until release is called; meanwhile the caller uses
// the files alone and calls nothing of the set.
func (s *Shared) Hold() (files []*File, release func()) {
	s.gate.enter()
	return slices.Clone(s.files), sync.OnceFunc(s.gate.leave)
}

// Corpora returns the logs of the set's corpora.
func (s *Shared) Corpora() *corpus.Store { return s.corpora }

// home returns the file that holds a root, to somebody inside the gate.
func (s *Shared) home(root document.Root) *File { return s.files[route(root, len(s.files))] }

// Put does what [File.Put] does, over the set: each document goes to the file
// that its root names, in one transaction a file, several files at a time. What
// an entry supersedes is retired in whichever file it is.
func (s *Shared) Put(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	return s.put(ctx, arrivals(entries), indexNow)
}

// Store is Put without the search index: what it stores is durable, can be read,
// proven and shared, and is found once [Shared.Index] was called. Many documents
// take much less time so.
func (s *Shared) Store(ctx context.Context, entries []document.Entry) ([]document.Outcome, error) {
	return s.put(ctx, arrivals(entries), indexLater)
}

// Receive is Store for what came in zstd frames.
func (s *Shared) Receive(ctx context.Context, entries []Arrival) ([]document.Outcome, error) {
	return s.put(ctx, entries, indexLater)
}

func (s *Shared) put(ctx context.Context, entries []Arrival, when indexing) ([]document.Outcome, error) {
	if err := checkEntries(entries); err != nil {
		return nil, err
	}
	release, err := take(ctx, s.turn)
	if err != nil {
		return nil, fmt.Errorf("put: %w", err)
	}
	defer release()
	s.gate.enter()
	defer s.gate.leave()
	// What has begun is ended: of one cut in half, some files would have their
	// part, and no log would list it.
	return put(context.WithoutCancel(ctx), s.files, entries, when)
}

// Document is [File.Document] over the set.
func (s *Shared) Document(ctx context.Context, root document.Root) (*document.Document, error) {
	s.gate.enter()
	defer s.gate.leave()
	return s.home(root).Document(ctx, root)
}

// Passage is [File.Passage] over the set.
func (s *Shared) Passage(ctx context.Context, root document.Root, index uint64) (Passage, error) {
	s.gate.enter()
	defer s.gate.leave()
	return s.home(root).Passage(ctx, root, index)
}

// Has is [File.Has] over the set.
func (s *Shared) Has(ctx context.Context, roots []document.Root) ([]bool, error) {
	s.gate.enter()
	defer s.gate.leave()
	perFile := make([][]document.Root, len(s.files))
	index := make([][]int, len(s.files))
	for i, r := range roots {
		home := route(r, len(s.files))
		perFile[home] = append(perFile[home], r)
		index[home] = append(index[home], i)
	}
	has := make([]bool, len(roots))
	err := each(len(s.files), func(i int) error {
		if len(perFile[i]) == 0 {
			return nil
		}
		found, err := s.files[i].Has(ctx, perFile[i])
		for j, ok := range found {
			has[index[i][j]] = ok
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return has, nil
}

// Locations is [File.Locations] over the set.
func (s *Shared) Locations(ctx context.Context, root document.Root) ([]Version, error) {
	s.gate.enter()
	defer s.gate.leave()
	return s.home(root).Locations(ctx, root)
}

// History is [File.History] over the set.
func (s *Shared) History(ctx context.Context, uri string) ([]Version, error) {
	s.gate.enter()
	defer s.gate.leave()
	perFile := make([][]Version, len(s.files))
	err := each(len(s.files), func(i int) (err error) {
		perFile[i], err = s.files[i].History(ctx, uri)
		return err
	})
	if err != nil {
		return nil, err
	}
	var all []Version
	for _, found := range perFile {
		all = append(all, found...)
	}
	sortHistory(all)
	return all, nil
}

// Stats is [File.Stats] over the set, but for files that cannot be read: see Damage.
func (s *Shared) Stats(ctx context.Context) (Stats, error) {
	s.gate.enter()
	defer s.gate.leave()
	var sum Stats
	for _, f := range s.files {
		st, err := f.Stats(ctx)
		if isUnreadable(err) {
			continue
		}
		if err != nil {
			return Stats{}, err
		}
		sum.Documents += st.Documents
		sum.Chunks += st.Chunks
		sum.Bytes += st.Bytes
	}
	return sum, nil
}

// Search is [Search] over the files of the set, with their statistics alone:
// what a peer may see.
func (s *Shared) Search(ctx context.Context, q Query) (Results, error) {
	s.gate.enter()
	defer s.gate.leave()
	return Search(ctx, s.files, q)
}
