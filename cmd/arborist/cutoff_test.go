package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"arborist/document"
	"arborist/shard"
)

// cmdCutOff leaves a home as an add does that was killed before it indexed
// anything: cutoff SHARDS DOCUMENTS. Each document has the word quetzal once.
func cmdCutOff(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	entries := make([]document.Entry, n)
	for i := range entries {
		var text strings.Builder
		for word := range 2000 {
			fmt.Fprintf(&text, "word%d ", i*997+word*word)
		}
		text.WriteString("quetzal")
		d, err := document.New([]byte(text.String()))
		ts.Check(err)
		entries[i] = document.Entry{Document: d, Location: document.Location{URI: fmt.Sprint("test:", i), Source: "test"}}
	}
	set, err := shard.OpenDamaged(ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = set.Store(context.Background(), entries)
	ts.Check(err)
	ts.Check(set.Close())
}
