package crawldb

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// SeedVector gives the vector that was settled with the seed's page, and nil
// where none was.
func (c *Crawl) SeedVector(ctx context.Context) ([]float32, error) {
	var raw []byte
	err := c.db.file.Reader().QueryRowContext(ctx, "SELECT vector FROM seed_vectors WHERE crawl = ?", c.id).Scan(&raw)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the seed's vector: %w", err)
	}
	vector := make([]float32, len(raw)/4)
	for i := range vector {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return vector, nil
}

func (c *Crawl) keepVector(tx *sql.Tx, vector []float32) error {
	raw := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	_, err := tx.Exec("INSERT OR REPLACE INTO seed_vectors (crawl, vector) VALUES (?, ?)", c.id, raw)
	return err
}
