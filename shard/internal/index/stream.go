package index

// A stream gives passages with frequencies in order, from a list that is read
// as it goes or from memory. It starts before the first.
type stream struct {
	docs, tfs []uint32 // a run of them
	i         int      // in the run; -1 before the first
	c         *cursor  // gives the next run; nil: this run is the last
}

// stream returns the matches in a segment.
func (m *Matches) stream(i int) *stream {
	f := &m.lists[i]
	if f.entry.n > 0 {
		return &stream{i: -1, c: m.reader.open(m.reader.segments[i], f.entry)}
	}
	return &stream{docs: f.docs, tfs: f.tfs, i: -1}
}

// size returns the number of matches in a segment.
func (m *Matches) size(i int) uint64 { return m.lists[i].entry.n + uint64(len(m.lists[i].docs)) }

func (s *stream) doc() uint32 { return s.docs[s.i] }
func (s *stream) tf() uint32  { return s.tfs[s.i] }

func (s *stream) next() (bool, error) {
	if s.i+1 < len(s.docs) {
		s.i++
		return true, nil
	}
	return s.nextRun()
}

// nextRun moves to the first passage of the next run.
func (s *stream) nextRun() (bool, error) {
	s.i, s.docs, s.tfs = 0, nil, nil
	if s.c == nil {
		return false, nil
	}
	more, err := s.c.nextBlock()
	s.take()
	return more, err
}

// take makes the cursor's block the run.
func (s *stream) take() {
	s.docs, s.tfs, s.i = s.c.docs.docs[:s.c.docs.n], s.c.docs.tfs[:s.c.docs.n], s.c.i
}

// seek moves to the first passage at or behind doc, never back.
func (s *stream) seek(doc uint32) (bool, error) {
	if n := len(s.docs); n > 0 && s.docs[n-1] >= doc {
		s.i = max(s.i, 0)
		for s.docs[s.i] < doc {
			s.i++
		}
		return true, nil
	}
	if s.c == nil {
		s.docs, s.tfs, s.i = nil, nil, 0
		return false, nil
	}
	more, err := s.c.seek(doc)
	s.take()
	return more, err
}
