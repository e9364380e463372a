// Package bleve compares ingest and search with Bleve v2, in a module of its
// own: nothing of Bleve reaches the program.
package bleve
