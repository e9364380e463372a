package office

import (
	"errors"
	"runtime"
	"testing"
)

// A hostile file, and how it must be refused.
type hostile struct {
	file []byte
	want error
}

// refuse demands that files are refused, and that it costs no more memory than
// their size and the limit of a text allow.
func refuse(t *testing.T, files map[string]hostile) {
	t.Helper()
	for name, c := range files {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d, err := Read(t.Context(), c.file)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %.100q, %v", name, d.Markdown, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(16*len(c.file)+16*maxText) {
			t.Errorf("%s: %d MB for a file of %d KB", name, used>>20, len(c.file)>>10)
		} else {
			t.Logf("%s: %d MB for a file of %d KB", name, used>>20, len(c.file)>>10)
		}
	}
}
