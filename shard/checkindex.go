package shard

import (
	"context"
	"database/sql"
	"hash/maphash"

	"arborist/shard/internal/rank"
)

// words compares the index with the texts, word by word: every word of every
// visible chunk has to be in the index where it stands in the text, and nothing
// else. Both sides are summed up, so that neither has to be held or sorted.
func (c *checker) words(ctx context.Context) error {
	sum := &wordSum{seed: maphash.MakeSeed()}
	inText, err := c.wordsOfTexts(ctx, sum)
	if err != nil {
		return err
	}
	inIndex, err := c.wordsOfIndex(ctx, sum)
	if err != nil {
		return err
	}
	if inText != inIndex {
		c.report("the index does not hold the words of the texts (%d words in the texts, %d in the index)", inText.words, inIndex.words)
	}
	return nil
}

// A wordSum sums up words with their places, in any order.
type wordSum struct {
	seed maphash.Seed
	hash maphash.Hash
}

type wordTotal struct{ words, sum uint64 }

func (s *wordSum) add(t *wordTotal, word string, chunk, offset int64) {
	s.hash.SetSeed(s.seed)
	maphash.WriteComparable(&s.hash, chunk)
	maphash.WriteComparable(&s.hash, offset)
	s.hash.WriteString(word)
	t.words++
	t.sum += s.hash.Sum64()
}

func (c *checker) wordsOfTexts(ctx context.Context, sum *wordSum) (t wordTotal, err error) {
	rows, err := c.tx.QueryContext(ctx, `SELECT c.id, arborist_tokens(CAST(c.text AS TEXT)) FROM documents d
		JOIN chunks c ON c.id >= d.id AND c.id < d.id + d.chunks WHERE d.visible = 1`)
	if err != nil {
		return t, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var blob sql.RawBytes
		if err := rows.Scan(&id, &blob); err != nil {
			return t, err
		}
		words, err := rank.Words(blob)
		if err != nil {
			return t, err
		}
		for i, w := range words {
			sum.add(&t, w, id, int64(i))
		}
	}
	return t, rows.Err()
}

// wordsOfIndex reads the postings back, through the table that Check made.
func (c *checker) wordsOfIndex(ctx context.Context, sum *wordSum) (t wordTotal, err error) {
	rows, err := c.tx.QueryContext(ctx, "SELECT term, doc, offset FROM temp.words")
	if err != nil {
		return t, err
	}
	defer rows.Close()
	for rows.Next() {
		var word string
		var id, offset int64
		if err := rows.Scan(&word, &id, &offset); err != nil {
			return t, err
		}
		sum.add(&t, word, id, offset)
	}
	return t, rows.Err()
}
