package corpus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"arborist/document"
	"arborist/merkle"
	"arborist/proof"
)

// newModelOf returns a model of n numbered records.
func newModelOf(t tester, name string, n int) *model {
	m := newModel(t, name)
	for _, r := range numbered(n, 0) {
		m.write(r) // all new: nothing to replay
	}
	return m
}

// followTo makes s follow the model up to n records.
func followTo(t tester, s *Store, m *model, n uint64) {
	t.Helper()
	ctx := context.Background()
	info, err := s.Follow(ctx, m.signer.Verifier())
	if err != nil {
		t.Fatalf("%v", err)
	}
	if n == 0 {
		return
	}
	head, err := s.Extend(ctx, m.origin(), m.note(n), m.lines[info.Size:n])
	if err != nil || head != m.head(n) {
		t.Fatalf("extend gives %v, %v; want %v", head, err, m.head(n))
	}
}

func TestFollowerShowsWhatThePublisherSigned(t *testing.T) {
	m := newModelOf(t, "main", 1400)
	s := newStore(t)
	for _, n := range []uint64{0, 1, 2, 255, 256, 257, 511, 512, 1000, 1400} {
		followTo(t, s, m, n)
		m.checkLog(t, s, n)
	}
}

// Each transition of a followed log that stands at 100 of 300 records, after a
// restart as before it.
func TestExtendRefusesWhatIsNotTheNextHead(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 300)
	fork := m.fork(60, numbered(240, 5000)...)
	other := newModelOf(t, "other", 300)
	stranger := &model{signer: testSigner(t, "main", 9), lines: m.lines, recs: m.recs, hashes: m.hashes}
	flip := func(lines [][]byte, i int) [][]byte {
		lines = slices.Clone(lines)
		lines[i] = bytes.Replace(lines[i], []byte("Title"), []byte("title"), 1)
		return lines
	}
	badSig := m.note(300)
	badSig[len(badSig)-10] ^= 1
	huge, err := proof.SignCheckpoint(proof.Checkpoint{Origin: m.origin(), Size: MaxSize + 1, Root: m.root(300)}, m.signer)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		note   []byte
		lines  [][]byte
		want   error // nil: accepted
		size   uint64
		frozen bool
	}{
		{"the same head", m.note(100), nil, nil, 100, false},
		{"the next head", m.note(101), m.lines[100:101], nil, 101, false},
		{"a later head", m.note(300), m.lines[100:], nil, 300, false},
		{"an older head", m.note(90), nil, ErrRollback, 100, false},
		{"the empty head", m.note(0), nil, ErrRollback, 100, false},
		{"same size, other root", fork.note(100), nil, ErrEquivocation, 100, true},
		{"older head of another history", fork.note(90), nil, ErrEquivocation, 100, true},
		{"older head from before the fork", fork.note(60), nil, ErrRollback, 100, false},
		{"later head of another history, its lines", fork.note(300), fork.lines[100:], ErrMismatch, 100, false},
		{"later head of another history, our lines", fork.note(300), m.lines[100:], ErrMismatch, 100, false},
		{"lines of another history", m.note(300), fork.lines[100:], ErrMismatch, 100, false},
		{"first line changed", m.note(300), flip(m.lines[100:], 0), ErrMismatch, 100, false},
		{"last line changed", m.note(300), flip(m.lines[100:], 199), ErrMismatch, 100, false},
		{"two lines swapped", m.note(102), [][]byte{m.lines[101], m.lines[100]}, ErrMismatch, 100, false},
		{"a line too many", m.note(200), m.lines[100:201], ErrMismatch, 100, false},
		{"a line too few", m.note(200), m.lines[100:199], io.ErrUnexpectedEOF, 100, false},
		{"no lines", m.note(200), nil, io.ErrUnexpectedEOF, 100, false},
		{"not a record", m.note(101), [][]byte{[]byte("{}")}, ErrRecord, 100, false},
		{"a line of 64 KiB", m.note(101), [][]byte{make([]byte, 1<<16)}, ErrRecord, 100, false},
		{"another key", stranger.note(300), m.lines[100:], proof.ErrUnknownKey, 100, false},
		{"another corpus", other.note(300), other.lines[100:], proof.ErrUnknownKey, 100, false},
		{"bad signature", badSig, m.lines[100:], proof.ErrSignature, 100, false},
		{"no note", nil, m.lines[100:], proof.ErrFormat, 100, false},
		{"more records than a log has", huge, m.lines[100:], ErrMismatch, 100, false},
	}
	for _, tt := range tests {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", tt.name, restart), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "corpora.db")
				s := openTest(t, path)
				followTo(t, s, m, 100)
				if restart {
					s.Close()
					s = openTest(t, path)
				}
				if _, err := s.Extend(ctx, m.origin(), tt.note, tt.lines); !errors.Is(err, tt.want) {
					t.Fatalf("extend: %v, want %v", err, tt.want)
				}
				m.checkLog(t, s, tt.size)
				info, err := s.Lookup(ctx, m.origin())
				if err != nil || info.Frozen != tt.frozen {
					t.Fatalf("frozen %v, %v; want %v", info.Frozen, err, tt.frozen)
				}
				_, err = s.Extend(ctx, m.origin(), m.note(300), m.lines[tt.size:])
				if tt.frozen {
					checkFrozen(t, s, m, err)
				} else if err != nil {
					t.Fatalf("the honest head afterwards: %v", err)
				}
			})
		}
	}
}

// checkFrozen checks an error of a call on a frozen corpus and the evidence
// that it names.
func checkFrozen(t *testing.T, s *Store, m *model, err error) {
	t.Helper()
	var frozen *FrozenError
	if !errors.As(err, &frozen) || !errors.Is(err, ErrFrozen) {
		t.Fatalf("call on a frozen corpus: %v", err)
	}
	all, err := s.Evidence(context.Background(), m.origin())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(e Evidence) bool { return e.ID == frozen.Evidence })
	if i < 0 || all[i].Kind != proof.Equivocation {
		t.Fatalf("evidence %d is not among %+v", frozen.Evidence, all)
	}
	if _, err := all[i].Verify(m.signer.Verifier()); err != nil {
		t.Fatal(err)
	}
}

// A log that its publisher signed, but that breaks the rule of the log, is
// refused at the record that breaks it.
func TestSignedLogThatBreaksTheRuleIsRefused(t *testing.T) {
	ctx := context.Background()
	a, b := listed("u:1", "A"), listed("u:1", "B")
	supersede := func(r proof.Record, old document.ID) proof.Record {
		r.Op, r.Supersedes = proof.OpSupersede, old
		return r
	}
	for name, tt := range map[string]struct {
		good []proof.Record
		bad  proof.Record
	}{
		"add where one is current":            {[]proof.Record{a}, b},
		"add of what is current":              {[]proof.Record{a}, a},
		"supersede of nothing":                {nil, supersede(b, a.ID)},
		"supersede at another URI":            {[]proof.Record{a}, supersede(listed("u:2", "B"), a.ID)},
		"supersede of what is not current":    {[]proof.Record{a, supersede(b, a.ID)}, supersede(listed("u:1", "C"), a.ID)},
		"supersede after a withdrawal":        {[]proof.Record{a, a.Withdrawal(testTime)}, supersede(b, a.ID)},
		"withdraw of nothing":                 {nil, a.Withdrawal(testTime)},
		"withdraw of what is not current":     {[]proof.Record{a}, b.Withdrawal(testTime)},
		"withdraw twice":                      {[]proof.Record{a, a.Withdrawal(testTime)}, a.Withdrawal(testTime)},
		"withdraw of what current superseded": {[]proof.Record{a, supersede(b, a.ID)}, a.Withdrawal(testTime)},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, "main")
			for _, r := range tt.good {
				m.write(r)
			}
			good := m.size()
			s := newStore(t)
			followTo(t, s, m, good)
			m.checkLog(t, s, good)
			m.write(tt.bad)
			if _, err := s.Extend(ctx, m.origin(), m.note(good+1), m.lines[good:]); !errors.Is(err, ErrRecord) {
				t.Fatalf("extend: %v", err)
			}
			m.checkLog(t, s, good)
		})
	}
}

// bigModel is a log that takes several steps to stage.
func bigModel(t tester) *model {
	m := newModelOf(t, "main", 2*batchLines)
	for i := range 40 { // ends and withdrawals on both sides of every cut
		m.write(m.recs[i].Withdrawal(testTime))
		r := listed(m.recs[50+i].URI, fmt.Sprintf("second %d", i%7))
		r.Op, r.Supersedes = proof.OpSupersede, m.recs[50+i].ID
		m.write(r)
	}
	return m
}

var errCut = errors.New("connection reset")

func TestCutExtendShowsNothingAndResumes(t *testing.T) {
	ctx := context.Background()
	m := bigModel(t)
	n := m.size()
	path := filepath.Join(t.TempDir(), "corpora.db")
	s := openTest(t, path)
	followTo(t, s, m, 300)
	cut := func(from uint64) iter.Seq2[[]byte, error] { return sequence(m.lines[from:n-5], errCut) }
	if _, err := s.ExtendFrom(ctx, m.origin(), m.note(n), cut); !errors.Is(err, errCut) {
		t.Fatalf("cut extend: %v", err)
	}
	m.checkLog(t, s, 300)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path)
	m.checkLog(t, s, 300)
	asked := uint64(0)
	head, err := s.ExtendFrom(ctx, m.origin(), m.note(n), func(from uint64) iter.Seq2[[]byte, error] {
		asked = from
		return m.from(n)(from)
	})
	if err != nil || head != m.head(n) {
		t.Fatalf("resumed extend: %v, %v", head, err)
	}
	if asked != n-5 {
		t.Errorf("asked for records from %d on, %d were missing", asked, n-5)
	}
	m.checkLog(t, s, n)
}

// What a liar has staged is found out at the honest peer's end and thrown away
// without its help.
func TestStagedLiesDoNotSpoilTheNextSync(t *testing.T) {
	ctx := context.Background()
	m := bigModel(t)
	n := m.size()
	liar := m.fork(300)
	for i := range batchLines + 300 {
		// The liar's lines take the honest lines' URIs, end current records and
		// list one document often.
		r := listed(m.recs[i].URI, fmt.Sprintf("lie %d", i%3))
		if i < 300 {
			r.Op, r.Supersedes = proof.OpSupersede, m.recs[i].ID
		}
		liar.write(r)
	}
	for name, next := range map[string]uint64{"the same head": n, "a head below what is staged": 500} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			followTo(t, s, m, 300)
			lies := func(from uint64) iter.Seq2[[]byte, error] { return sequence(liar.lines[from:], errCut) }
			if _, err := s.ExtendFrom(ctx, m.origin(), m.note(n), lies); !errors.Is(err, errCut) {
				t.Fatalf("cut extend: %v", err)
			}
			m.checkLog(t, s, 300)
			var asked []uint64
			_, err := s.ExtendFrom(ctx, m.origin(), m.note(next), func(from uint64) iter.Seq2[[]byte, error] {
				asked = append(asked, from)
				return m.from(next)(from)
			})
			if err != nil || asked[len(asked)-1] != 300 {
				t.Fatalf("honest extend, asked %v: %v", asked, err)
			}
			m.checkLog(t, s, next)
		})
	}
}

// The head that is in force, served again while a later one is half fetched,
// must not throw the half away.
func TestPollingTheCurrentHeadKeepsTheStage(t *testing.T) {
	ctx := context.Background()
	m := newModelOf(t, "main", 600)
	s := newStore(t)
	followTo(t, s, m, 300)
	cut := func(from uint64) iter.Seq2[[]byte, error] { return sequence(m.lines[from:500], errCut) }
	if _, err := s.ExtendFrom(ctx, m.origin(), m.note(600), cut); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	for _, note := range [][]byte{m.note(300), m.note(200)} {
		if _, err := s.Extend(ctx, m.origin(), note, nil); err != nil && !errors.Is(err, ErrRollback) {
			t.Fatal(err)
		}
	}
	_, err := s.ExtendFrom(ctx, m.origin(), m.note(600), func(from uint64) iter.Seq2[[]byte, error] {
		if from != 500 {
			t.Errorf("asked from %d on", from)
		}
		return m.from(600)(from)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An Extend that waits for its peer holds up neither a publisher nor readers.
func TestWaitingExtendBlocksNobody(t *testing.T) {
	ctx := context.Background()
	s, own := newOwn(t)
	m := newModelOf(t, "other", batchLines+10)
	if _, err := s.Follow(ctx, m.signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	_, err := s.ExtendFrom(ctx, m.origin(), m.note(m.size()), func(from uint64) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for i, line := range m.lines[from:] {
				if i == batchLines+5 { // one step is staged, the next has begun
					appendBoth(t, s, own, numbered(20, 0)...)
					own.checkLog(t, s, 20)
					m.checkLog(t, s, 0)
				}
				if !yield(line, nil) {
					return
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	m.checkLog(t, s, m.size())
}

// An Extend in the middle of its lines can be stopped, and the log can be
// extended again at once.
func TestEndedContextStopsExtend(t *testing.T) {
	m := newModelOf(t, "main", batchLines+100)
	s := newStore(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, err := s.Follow(ctx, m.signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	_, err := s.ExtendFrom(ctx, m.origin(), m.note(m.size()), func(from uint64) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for i, line := range m.lines[from:] {
				if i == 100 {
					cancel()
				}
				if !yield(line, nil) {
					return
				}
			}
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("extend: %v", err)
	}
	m.checkLog(t, s, 0)
	followTo(t, s, m, m.size())
	m.checkLog(t, s, m.size())
}

// Whoever serves lines without end fills neither memory nor disk.
func TestEndlessLinesAreCutAtTheSignedSize(t *testing.T) {
	m := newModelOf(t, "main", 10)
	s := newStore(t)
	followTo(t, s, m, 0)
	pulled := 0
	_, err := s.ExtendFrom(context.Background(), m.origin(), m.note(10), func(from uint64) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for i := from; yield(sourceLine(i), nil); i++ {
				if pulled++; pulled > 100 {
					return
				}
			}
		}
	})
	if !errors.Is(err, ErrMismatch) || pulled > 11 {
		t.Fatalf("%d lines were taken for 10: %v", pulled, err)
	}
	m.checkLog(t, s, 0)
}

// Memory does not grow with the log: 24 MB of lines pass through a few.
func TestExtendMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("stages 24 MB")
	}
	s := newStore(t)
	m := newModel(t, "main")
	if _, err := s.Follow(context.Background(), m.signer.Verifier()); err != nil {
		t.Fatal(err)
	}
	const n, width = 3000, 8000
	pad := string(bytes.Repeat([]byte("x"), width))
	var peak uint64
	var b merkle.Builder
	line := func(i int) []byte {
		l, err := listed(fmt.Sprintf("u:%d/%s", i, pad), "same").Line()
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for i := range n {
		b.Append(merkle.LeafHash(line(i)))
	}
	head := proof.Checkpoint{Origin: m.origin(), Size: n, Root: b.Root()}
	note, err := proof.SignCheckpoint(head, m.signer)
	if err != nil {
		t.Fatal(err)
	}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, err = s.ExtendFrom(context.Background(), m.origin(), note, func(uint64) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for i := range n {
				if i%500 == 499 {
					var now runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&now)
					peak = max(peak, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
				}
				if !yield(line(i), nil) {
					return
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if peak > 6*batchBytes {
		t.Errorf("heap grew by %d bytes while %d passed through", peak, n*width)
	}
	if info, err := s.Lookup(context.Background(), m.origin()); err != nil || info.Documents != 1 || info.Size != n {
		t.Errorf("one document at %d URIs: %+v, %v", n, info, err)
	}
}
