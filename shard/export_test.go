package shard

import (
	"database/sql"
	"testing"
)

// RawDB is rawDB for the benchmarks of the external test package.
func RawDB(b *testing.B, schema string) *sql.DB { return rawDB(b, schema) }
