//go:build !sqlite_fts5

package shard

// Without the tag sqlite_fts5 the SQLite that is compiled in cannot open the
// index of files of schema version 1, and migrating them would fail at run time.
// This name does not exist, so that the compiler says what to type instead.
var _ = build_with_make_or_add_tags_sqlite_fts5
