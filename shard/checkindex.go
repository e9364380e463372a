package shard

import (
	"context"
	"hash/maphash"

	"arborist/shard/internal/index"
	"arborist/shard/internal/words"
)

// index compares the index with the texts, word by word: every word of every
// chunk has to be in the index where it stands in the text, and nothing else.
// Both sides are summed up, so that neither has to be held or sorted. Then it
// compares what the index counts with what is visible.
func (c *checker) index(ctx context.Context) error {
	if !c.subset.All() {
		return nil // the counters have its lengths; the rest takes all texts
	}
	opened, err := openInverted(ctx, c.tx, postingsOf(ctx, c.tx), nil)
	if err != nil {
		return err
	}
	sum := &wordSum{seed: maphash.MakeSeed()}
	var inIndex, inText wordTotal
	err = opened.reader.Each(ctx, func(term []byte, chunk int64, position uint32) {
		sum.add(&inIndex, term, chunk, int(position))
	})
	if err != nil {
		return damagedIndex(err)
	}
	if err := c.words(ctx, sum, &inText, opened.reader); err != nil {
		return err
	}
	if inText != inIndex {
		c.report("the index does not hold the words of the texts (%d words in the texts, %d in the index)", inText.words, inIndex.words)
	}
	return c.hidden(ctx, opened)
}

// A wordSum sums up words with their places, in any order.
type wordSum struct {
	seed maphash.Seed
	hash maphash.Hash
}

type wordTotal struct{ words, sum uint64 }

func (s *wordSum) add(t *wordTotal, word []byte, chunk int64, position int) {
	s.hash.SetSeed(s.seed)
	maphash.WriteComparable(&s.hash, chunk)
	maphash.WriteComparable(&s.hash, position)
	s.hash.Write(word)
	t.words++
	t.sum += s.hash.Sum64()
}

// words sums up the words of the texts and compares the length of each chunk.
func (c *checker) words(ctx context.Context, sum *wordSum, total *wordTotal, r *index.Reader) error {
	var tokenizer words.Tokenizer
	return c.texts(ctx, func(row docRow, words int64, chunks [][]byte) {
		all := int64(0)
		for i, text := range chunks {
			id, n := row.id+int64(i), 0
			tokenizer.Each(text, func(term []byte, _, _ int) {
				sum.add(total, term, id, n)
				n++
			})
			if got, ok := r.Length(id); !ok {
				c.report("the index lacks chunk %d", id)
			} else if got != n {
				c.report("the index says that chunk %d has %d words, it has %d", id, got, n)
			}
			all += int64(n)
		}
		if all != words {
			c.report("document %s has %d words, its row says %d", row.header.Root, all, words)
		}
	})
}

// hidden compares the counts of hidden documents with their texts.
func (c *checker) hidden(ctx context.Context, opened *inverted) error {
	want := make(map[string]index.Count)
	var tokenizer words.Tokenizer
	err := c.texts(ctx, func(row docRow, _ int64, chunks [][]byte) {
		if row.visible {
			return
		}
		for _, text := range chunks {
			seen := make(map[string]bool)
			tokenizer.Each(text, func(term []byte, _, _ int) {
				n := want[string(term)]
				if n.Times--; !seen[string(term)] {
					seen[string(term)] = true
					n.Passages--
				}
				want[string(term)] = n
			})
		}
	})
	if err != nil {
		return err
	}
	err = opened.reader.EachCount(ctx, func(term []byte, n index.Count) {
		was := want[string(term)]
		want[string(term)] = index.Count{Passages: was.Passages - n.Passages, Times: was.Times - n.Times}
	})
	if err != nil {
		return damagedIndex(err)
	}
	for _, n := range want {
		if n != (index.Count{}) {
			c.report("the index counts words of documents that are hidden, or leaves out some of what is visible")
			return nil
		}
	}
	return nil
}

// texts calls fn with each document of the index that can be read.
func (c *checker) texts(ctx context.Context, fn func(row docRow, words int64, chunks [][]byte)) error {
	indexed, err := indexedTo(ctx, c.tx)
	if err != nil {
		return err
	}
	for id := int64(0); ; {
		var words int64
		row, err := scanDoc(c.tx.QueryRowContext(ctx, "SELECT "+docColumns+", words FROM documents WHERE id > ? AND id < ? ORDER BY id LIMIT 1", id, indexed), &words)
		if isNotFound(err) {
			return nil
		}
		if err != nil && !isCorrupt(err) {
			return err
		}
		if back := inOrder(id, row.id); back != nil {
			return back
		}
		id = row.id
		if err != nil {
			continue // reported by documents
		}
		d, err := c.file.readDocument(ctx, c.tx, row)
		if isCorrupt(err) {
			continue
		}
		if err != nil {
			return err
		}
		chunks := make([][]byte, d.Chunks())
		for i := range chunks {
			chunks[i] = d.Chunk(i)
		}
		fn(row, words, chunks)
	}
}
