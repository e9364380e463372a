package shard

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"arborist/document"
	"arborist/shard/internal/index"
	"arborist/shard/internal/words"
)

// cacheBytes is how much of its index a file keeps in memory.
const cacheBytes = 8 << 20

// An inverted is the index of a file as of one generation.
type inverted struct {
	reader   *index.Reader
	passages int64         // in the index
	hidden   []index.Range // chunks that are in the index and not found
}

// An invertedCache holds the index of a file as a search saw it last: what it
// says of segments does not have to be read for each search.
type invertedCache struct {
	rows *index.Cache

	mu         sync.Mutex
	generation int64
	inverted   *inverted
}

func newInvertedCache() *invertedCache { return &invertedCache{rows: index.NewCache(cacheBytes)} }

// invertedOf returns the index of the state that a snapshot sees.
func (f *File) invertedOf(ctx context.Context, tx queryer, generation int64) (*inverted, error) {
	get := postingsOf(ctx, tx)
	c := f.index
	c.mu.Lock()
	known := c.inverted
	if c.generation != generation {
		known = nil
	}
	c.mu.Unlock()
	if known != nil {
		return &inverted{known.reader.With(get), known.passages, known.hidden}, nil
	}
	opened, err := openInverted(ctx, tx, get, c.rows)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if generation >= c.generation {
		c.generation, c.inverted = generation, opened
	}
	return opened, nil
}

func openInverted(ctx context.Context, tx queryer, get index.GetRow, cache *index.Cache) (*inverted, error) {
	segments, err := readSegments(ctx, tx)
	if err != nil {
		return nil, err
	}
	reader, err := index.Open(segments, get, cache)
	if err != nil {
		return nil, damagedIndex(err)
	}
	opened := &inverted{reader: reader}
	for _, s := range segments {
		opened.passages += s.Passages // none in segments of counts
	}
	opened.hidden, err = readHidden(ctx, tx)
	return opened, err
}

func postingsOf(ctx context.Context, tx queryer) index.GetRow {
	// A context that can end costs a goroutine a statement; these take
	// microseconds, and whoever reads many rows asks the context between them.
	ctx = context.WithoutCancel(ctx)
	return func(row int64) (data []byte, err error) {
		err = tx.QueryRowContext(ctx, "SELECT data FROM postings WHERE id = ?", row).Scan(&data)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, corrupt("its index lacks row %d", row)
		}
		return data, err
	}
}

// readSegments returns the segments, those of each sign in the order of their
// passages or of their making.
func readSegments(ctx context.Context, tx queryer) ([]index.Segment, error) {
	rows, err := tx.QueryContext(ctx, "SELECT base, rows, level, negative, first, passages FROM segments ORDER BY negative, first, base")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []index.Segment
	for rows.Next() {
		var s index.Segment
		if err := rows.Scan(&s.Base, &s.Rows, &s.Level, &s.Counts, &s.First, &s.Passages); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// readHidden returns the chunks of hidden documents that are in the index.
func readHidden(ctx context.Context, tx queryer) ([]index.Range, error) {
	end, err := indexedTo(ctx, tx)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, "SELECT id, chunks FROM documents WHERE visible = 0 AND id < ?", end)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var hidden []index.Range
	for rows.Next() {
		var first, n int64
		if err := rows.Scan(&first, &n); err != nil {
			return nil, err
		}
		if first < 1 || n < 1 || n > document.MaxBytes {
			return nil, corrupt("document row %d has %d chunks", first, n)
		}
		hidden = append(hidden, index.Range{First: first, End: first + n})
	}
	return index.Union(hidden), rows.Err()
}

// damagedIndex gives the findings of the index the name that callers know.
func damagedIndex(err error) error {
	if errors.Is(err, index.ErrFormat) {
		return corrupt("%w", err)
	}
	return err
}

// An indexer writes the index within one transaction of one file.
type indexer struct {
	tx      *sql.Tx
	state   *state
	words   words.Tokenizer
	first   int64 // id of the first chunk in added
	added   index.Builder
	counts  [2]index.Builder // of documents that were hidden, and shown again
	numbers []uint32         // of the words of a chunk
	insert  *sql.Stmt
}

// begin makes the indexer ready for a transaction.
func (x *indexer) begin(tx *sql.Tx, s *state) {
	x.tx, x.state, x.insert = tx, s, nil
	x.added.Reset()
	x.counts[0].Reset()
	x.counts[1].Reset()
}

// A chunked is text in chunks: a [document.Document], or what is stored of one.
type chunked interface {
	Chunks() int
	Chunk(i int) []byte
}

// add adds the chunks of a document, whose id is behind those of all others in
// the index, and returns the number of words.
func (x *indexer) add(id int64, d chunked) (total int64, err error) {
	for i := range d.Chunks() {
		if x.added.Passages() == 0 {
			x.first = id + int64(i)
		}
		x.numbers = x.words.Numbers(x.numbers[:0], d.Chunk(i), &x.added)
		total += int64(x.added.Add(x.numbers))
		if x.added.Full() {
			if err := x.flush(); err != nil {
				return 0, err
			}
		}
	}
	return total, nil
}

// signOf is the number of the counts that take chunks out, or back in.
func signOf(in bool) int {
	if in {
		return 1
	}
	return 0
}

// count takes the chunks of a document out of what the index counts, or back in.
func (x *indexer) count(d chunked, in bool) error {
	sign := signOf(in)
	b := &x.counts[sign]
	for i := range d.Chunks() {
		x.numbers = x.numbers[:0]
		x.words.Each(d.Chunk(i), func(term []byte, _, _ int) { x.numbers = append(x.numbers, b.Number(term)) })
		b.Add(x.numbers)
		if b.Full() {
			if err := x.flushCounts(sign); err != nil {
				return err
			}
		}
	}
	return nil
}

// countedAtOnce is how many chunks countIndexed holds the words of.
const countedAtOnce = 8192

// countIndexed is count for chunks whose text is damaged: of their words it takes
// those that the index has, all of which it reads for that.
func (x *indexer) countIndexed(first, end int64, in bool) error {
	opened, err := openInverted(background, x.tx, postingsOf(background, x.tx), nil)
	if err != nil {
		return err
	}
	sign := signOf(in)
	b := &x.counts[sign]
	for ; first < end; first += countedAtOnce {
		if err := x.flushCounts(sign); err != nil {
			return err
		}
		chunks := make(map[int64][]uint32)
		err := opened.reader.Each(background, func(term []byte, chunk int64, _ uint32) {
			if chunk >= first && chunk < min(end, first+countedAtOnce) {
				chunks[chunk] = append(chunks[chunk], b.Number(term))
			}
		})
		if err != nil {
			return damagedIndex(err)
		}
		for _, numbers := range chunks {
			b.Add(numbers)
		}
	}
	return nil
}

func (x *indexer) put(row int64, data []byte) error {
	if x.insert == nil {
		stmt, err := x.tx.PrepareContext(background, "INSERT INTO postings (id, data) VALUES (?, ?)")
		if err != nil {
			return err
		}
		x.insert = stmt
	}
	_, err := x.insert.ExecContext(background, row, data)
	return err
}

// flush writes what add has gathered as a segment.
func (x *indexer) flush() error {
	if x.added.Passages() == 0 {
		return nil
	}
	return x.record(x.added.Write(x.put, x.first, x.state.posting))
}

func (x *indexer) flushCounts(sign int) error {
	if x.counts[sign].Passages() == 0 {
		return nil
	}
	return x.record(x.counts[sign].WriteCounts(x.put, int64(2*sign-1), x.state.posting))
}

func (x *indexer) record(s index.Segment, err error) error {
	if err != nil {
		return damagedIndex(err)
	}
	x.state.posting += s.Rows
	_, err = x.tx.ExecContext(background, "INSERT INTO segments (base, rows, level, negative, first, passages) VALUES (?, ?, ?, ?, ?, ?)",
		s.Base, s.Rows, s.Level, s.Counts, s.First, s.Passages)
	return err
}

// drop forgets segments.
func (x *indexer) drop(all []index.Segment) error {
	for _, s := range all {
		if _, err := x.tx.ExecContext(background, "DELETE FROM segments WHERE base = ?", s.Base); err != nil {
			return err
		}
		if err := x.dropRows(s.Base, s.Base+s.Rows); err != nil {
			return err
		}
	}
	return nil
}

func (x *indexer) dropRows(first, end int64) error {
	_, err := x.tx.ExecContext(background, "DELETE FROM postings WHERE id >= ? AND id < ?", first, end)
	return err
}

// finish writes what is left and keeps the number of segments small.
func (x *indexer) finish() error {
	if x.added.Passages()+x.counts[0].Passages()+x.counts[1].Passages() == 0 {
		return nil
	}
	if err := errors.Join(x.flush(), x.flushCounts(0), x.flushCounts(1)); err != nil {
		return err
	}
	for {
		again, err := x.merge()
		if err != nil || !again {
			return err
		}
	}
}

// merge makes one segment of several where it is time to.
func (x *indexer) merge() (merged bool, err error) {
	segments, err := readSegments(background, x.tx)
	if err != nil {
		return false, err
	}
	positive := segments
	for i, s := range segments {
		if s.Counts {
			positive = segments[:i]
			break
		}
	}
	negative := segments[len(positive):]
	from, gone := index.Plan(positive), positive
	if from < 0 {
		from, gone = index.Plan(negative), negative
	}
	if from < 0 {
		return false, nil
	}
	return true, x.mergeFrom(segments, gone, from)
}

// mergeAll makes one segment of all, and one of all counts.
func (x *indexer) mergeAll() (merged bool, err error) {
	for _, counts := range []bool{false, true} {
		segments, err := readSegments(background, x.tx)
		if err != nil {
			return false, err
		}
		all := slices.DeleteFunc(slices.Clone(segments), func(s index.Segment) bool { return s.Counts != counts })
		if len(all) < 2 {
			continue
		}
		if err := x.mergeFrom(segments, all, 0); err != nil {
			return false, err
		}
		merged = true
	}
	return merged, nil
}

// mergeFrom makes one segment of those of one sign from a number on.
func (x *indexer) mergeFrom(segments, gone []index.Segment, from int) error {
	reader, err := index.Open(segments, postingsOf(background, x.tx), nil)
	if err != nil {
		return damagedIndex(err)
	}
	var s index.Segment
	if len(gone) > 0 && gone[0].Counts {
		s, err = reader.MergeCounts(from, x.put, x.dropRows, x.state.posting)
	} else {
		s, err = reader.Merge(from, x.put, x.dropRows, x.state.posting)
	}
	if err := x.record(s, err); err != nil {
		return err
	}
	return x.drop(gone[from:])
}
