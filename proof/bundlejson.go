package proof

import (
	"encoding/json"

	"arborist/merkle"
)

// The JSON form of a bundle. Texts that are hashed or signed stand in it as
// strings, as in a proof.
type (
	bundleTwin struct {
		Format    string         `json:"format"`
		Hits      [][2]uint64    `json:"hits"`
		Logs      []logTwin      `json:"logs"`
		Documents []documentTwin `json:"documents"`
	}
	logTwin struct {
		Checkpoint string         `json:"checkpoint"`
		Hashes     []string       `json:"hashes"`
		Documents  []documentTwin `json:"documents"`
	}
	documentTwin struct {
		Index    *uint64       `json:"index,omitempty"`
		Record   string        `json:"record,omitempty"`
		Document string        `json:"document,omitempty"`
		Header   string        `json:"header,omitempty"`
		Chunks   []passageTwin `json:"chunks"`
		Path     []string      `json:"path"`
	}
	passageTwin struct {
		Chunk   uint64 `json:"chunk"`
		Passage []byte `json:"passage"` // base64
	}
)

// MarshalJSON returns the bundle's JSON form, the twin of its text form: one
// object without white space and without a newline at its end, strings escaped
// as encoding/json does by default. It fails where [Bundle.MarshalText] does.
func (b *Bundle) MarshalJSON() ([]byte, error) { return b.marshal((*Bundle).encodeJSON) }

// encodeJSON is MarshalJSON of a bundle that has been checked.
func (b *Bundle) encodeJSON(c bundleParts) ([]byte, error) {
	t := bundleTwin{Format: bundleVersion, Hits: make([][2]uint64, len(b.Hits)), Logs: make([]logTwin, len(b.Logs)), Documents: make([]documentTwin, len(b.Documents))}
	for i, h := range b.Hits {
		t.Hits[i] = [2]uint64{h.Document, h.Chunk}
	}
	number := 0
	for i := range b.Logs {
		l := &b.Logs[i]
		t.Logs[i] = logTwin{Checkpoint: string(l.Note), Hashes: hashStrings(l.Path), Documents: make([]documentTwin, len(l.Documents))}
		for j := range l.Documents {
			d := l.Documents[j].twin()
			d.Index, d.Record = &l.Documents[j].Index, string(c.lines[number])
			t.Logs[i].Documents[j] = d
			number++
		}
	}
	for i := range b.Documents {
		d := b.Documents[i].twin()
		d.Document, d.Header = c.headers[number].id.String(), string(c.headers[number].text)
		t.Documents[i] = d
		number++
	}
	return json.Marshal(t)
}

func (d *BundleDocument) twin() documentTwin {
	t := documentTwin{Chunks: make([]passageTwin, len(d.Passages)), Path: hashStrings(d.Path)}
	for i, p := range d.Passages {
		t.Chunks[i] = passageTwin{Chunk: p.Chunk, Passage: p.Text}
	}
	return t
}

// hashStrings returns hashes in base64; it is never nil.
func hashStrings(hashes []merkle.Hash) []string { return Inclusion{Path: hashes}.strings() }
