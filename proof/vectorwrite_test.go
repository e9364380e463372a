package proof

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"arborist/document"
	"arborist/merkle"
)

var update = flag.Bool("update", false, "write docs/vectors anew; a format that is out in the world must not change")

// TestWriteVectors holds the tables to the committed vectors: both give the
// same files. What a row should give is said in the tables and, once written,
// in the files. With -update it writes them, for rows that are new.
func TestWriteVectors(t *testing.T) {
	writeVectors(t, "record.json", "record", "Lines of a corpus's log. The input of a valid one is hashed as a leaf of the log: SHA-256(0x00, input).", recordVectors(t))
	writeVectors(t, "checkpoint.json", "c2sp.org/tlog-checkpoint", "Checkpoint texts, not signed. The size of an empty log is valid here and nowhere in a proof.", checkpointVectors(t))
	writeVectors(t, "note.json", "c2sp.org/signed-note", "Verifier keys, and signed checkpoints opened with a key.", noteVectors(t))
	writeVectors(t, "filter-note.json", "arborist-filter/1", "Signed notes about the filter of a log, opened with a key.", filterVectors(t))
	writeVectors(t, "rotation.json", "arborist-key-rotation/1", "Rotations files. Both signatures of every rotation are verified with the keys that it names.", rotationVectors(t))
	writeVectors(t, "cosignature.json", "c2sp.org/tlog-cosignature", "Verifier keys of witnesses (cosigner), that of a witness given as that of a corpus (key), and notes with the cosignatures of known witnesses. The reader knows the keys in witnesses and looks at no line of the log's own key.", cosignVectors(t))
	writeVectors(t, "proof.json", "arborist-proof/2", "Proof files in both forms, with what their verifier knows from elsewhere: key, root, id, text.", proofVectors(t))
	writeVectors(t, "evidence.json", "arborist-evidence/1", "Evidence files, verified with the key of the corpus that they are of.", evidenceVectors(t))
	writeVectors(t, "evidence-rotation.json", "arborist-evidence/1", "Evidence files about a corpus that changed its key, verified with one of its keys and, where they are given, its rotations.", keyedVectors(t))
}

func keyedVectors(t *testing.T) (all []vector) {
	for _, row := range keyedRows(t) {
		v := newVector("evidence", row.name, row.file)
		v.Key, v.Rotations = row.key.String(), string(AppendRotations(nil, row.chain))
		all = append(all, v)
	}
	return all
}

func evidenceVectors(t *testing.T) (all []vector) {
	vkey := testSigner(t, testPeer+"/main").Verifier().String()
	for _, row := range evidenceRows(t) {
		v := newVector("evidence", row.name, row.file)
		v.Key = vkey
		all = append(all, v)
	}
	return all
}

func writeVectors(t *testing.T, name, format, about string, vectors []vector) {
	for i := range vectors {
		v := &vectors[i]
		result, err := v.evaluate(t)
		v.Valid = err == nil
		if v.Result = result; err != nil {
			v.Reason = reasonOf(err)
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n\"about\": %q,\n\"format\": %q,\n\"vectors\": [\n", about, format)
	for i, v := range vectors {
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		if i < len(vectors)-1 {
			b.Truncate(b.Len() - 1) // one object a line
			b.WriteString(",\n")
		}
	}
	b.WriteString("]\n}\n")
	writeOrCompare(t, name, b.Bytes())
}

// writeOrCompare writes a file of vectors with -update, and otherwise demands
// that it is what is committed.
func writeOrCompare(t *testing.T, name string, want []byte) {
	t.Helper()
	path := filepath.Join(vectorDir, name)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what its tables give: a new row needs -update, a changed one must not be", name)
	}
}

func recordVectors(t *testing.T) (all []vector) {
	lines, rows := recordSpellings(t)
	for _, op := range []Op{OpAdd, OpSupersede, OpWithdraw} {
		all = append(all, newVector("record", string(op), []byte(lines[op])))
	}
	add, _, _ := testRecords(t)
	for name, change := range map[string]func(*Record){
		"empty title and source": func(r *Record) { r.Title, r.Source = "", "" },
		"title of other scripts": func(r *Record) { r.Title = "木と林 🌲 דפים <b>&amp;</b> \\\" /" },
		"URI at its limit":       func(r *Record) { r.URI = "u:" + strings.Repeat("u", MaxURI-2) },
		"title at its limit":     func(r *Record) { r.Title = strings.Repeat("é", MaxTitle/2) },
	} {
		r := add
		change(&r)
		line, err := r.Line()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, newVector("record", name, line))
	}
	slices.SortStableFunc(all[3:], func(a, b vector) int { return strings.Compare(a.Name, b.Name) })
	for _, row := range rows {
		all = append(all, newVector("record", string(row.op)+": "+row.name, respell(t, lines[row.op], row.spelling)))
	}
	return all
}

func checkpointVectors(t *testing.T) (all []vector) {
	root := merkle.Hash{1, 2, 3}
	valid := Checkpoint{Origin: testPeer + "/main", Size: 12, Root: root}
	for name, c := range map[string]Checkpoint{
		"a log":           valid,
		"an empty log":    {Origin: testPeer + "/main", Root: merkle.EmptyRoot()},
		"the largest log": {Origin: testPeer + "/main", Size: 1<<63 - 1, Root: root},
		"another origin":  {Origin: "example.com/log", Size: 1, Root: root},
	} {
		all = append(all, newVector("checkpoint", name, c.Text()))
	}
	slices.SortFunc(all, func(a, b vector) int { return strings.Compare(a.Name, b.Name) })
	plain := Checkpoint{Origin: "peer/main", Size: 12, Root: root}
	for _, row := range checkpointSpellings(string(appendHash(nil, root))) {
		all = append(all, newVector("checkpoint", row.name, respell(t, string(plain.Text()), row)))
	}
	return all
}

func noteVectors(t *testing.T) (all []vector) {
	s := testSigner(t, "peer/main")
	vkey := s.Verifier().String()
	all = append(all,
		newVector("key", "a key", []byte(vkey)),
		newVector("key", "the key of a corpus", []byte(testSigner(t, testPeer+"/main").Verifier().String())),
		newVector("key", "the example of C2SP", []byte("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k")))
	bad := badKeys(vkey, s.PrivateKey())
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		all = append(all, newVector("key", name, []byte(bad[name])))
	}
	for _, row := range noteRows(t, s) {
		if len(row.note) > 20_000 {
			continue // the caps are tested without filling the repository
		}
		v := newVector("note", row.name, []byte(row.note))
		v.Key = vkey
		all = append(all, v)
	}
	return all
}

// rawText encodes a proof that check would refuse.
func rawText(t *testing.T, p *Proof) []byte {
	c := parts{header: hashedHeader{p.Header.Text(), p.Header.ID()}}
	if p.Log != nil {
		c.line = p.Log.Record.appendLine(nil)
	}
	b, err := p.encodeText(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func proofVectors(t *testing.T) (all []vector) {
	s := testSigner(t, testPeer+"/main")
	add := func(name string, file []byte, e Expect) {
		v := newVector("proof", name, file)
		if e.Key != nil {
			v.Key = e.Key.String()
		}
		if e.Root != nil {
			v.Root = e.Root.String()
		}
		if e.ID != nil {
			v.ID = e.ID.String()
		}
		if e.Text != nil {
			text := string(e.Text)
			v.Text = &text
		}
		all = append(all, v)
	}
	validProofs(t, s, add)
	d := newTestDocument(numbered(9))
	for _, row := range refusals(t, s, d) {
		p, e := d.logged(t, s, 3, 6, 11), Expect{Key: s.Verifier()}
		row.change(p, &e)
		if p.Log != nil && p.Header != d.header && p.Header != p.Log.Record.Header {
			// A file in the log form has no header of its own to disagree.
			p.Log, e.Key = nil, nil
		}
		if p.Log != nil && p.Log.Record.Header == d.header && p.Log.Record.ID != d.header.ID() {
			continue // nor an ID
		}
		if len(p.Text) < 5000 {
			add("refused: "+row.name, rawText(t, p), e)
		}
	}
	logged, short, e := spellingProof(t)
	for _, form := range textSpellings(t, logged, short) {
		for _, row := range form.rows {
			key := e.Key
			if form.name == "short" {
				key = nil
			}
			add("text, "+form.name+": "+row.name, respell(t, form.valid, row), Expect{Key: key})
		}
		add("text, "+form.name+": newline after the end", []byte(form.valid+"\n"), Expect{})
		add("text, "+form.name+": newer version", []byte(strings.Replace(form.valid, "proof/2", "proof/3", 1)), Expect{})
		add("text, "+form.name+": version before the ID was left out", []byte(strings.Replace(form.valid, "proof/2", "proof/1", 1)), Expect{})
		add("text, "+form.name+": cut", []byte(form.valid[:len(form.valid)-1]), Expect{})
	}
	for _, form := range jsonSpellings(t, logged, short) {
		for _, row := range form.rows {
			add("JSON, "+form.name+": "+row.name, respell(t, form.valid, row), Expect{})
		}
		add("JSON, "+form.name+": newer version", []byte(strings.Replace(form.valid, "proof/2", "proof/3", 1)), Expect{})
		add("JSON, "+form.name+": version before the ID was left out", []byte(strings.Replace(form.valid, "proof/2", "proof/1", 1)), Expect{})
		add("JSON, "+form.name+": cut", []byte(form.valid[:len(form.valid)-1]), Expect{})
	}
	return all
}

// validProofs adds proofs of several shapes in both forms.
func validProofs(t *testing.T, s *Signer, add func(name string, file []byte, e Expect)) {
	both := func(name string, p *Proof, e Expect) {
		add(name+", text", []byte(mustText(t, p)), e)
		add(name+", JSON", []byte(mustTwin(t, p)), e)
	}
	for _, n := range []int{1, 2, 5} {
		d := newTestDocument(numbered(n))
		id := d.header.ID()
		both(fmt.Sprintf("chunk %d of %d", n-1, n), d.proof(t, n-1), Expect{ID: &id})
	}
	d := newTestDocument(numbered(9))
	apart := d.proof(t, 3)
	apart.Text = nil
	both("passage apart", apart, Expect{Root: &d.header.Root, Text: d.chunks[3]})
	both("passage missing", apart, Expect{Root: &d.header.Root})
	both("the only record", d.logged(t, s, 3, 0, 1), Expect{Key: s.Verifier()})
	logged := d.logged(t, s, 8, 6, 11)
	both("record 6 of 11", logged, Expect{Key: s.Verifier(), Root: &d.header.Root})
	both("record 6 of 11 without its key", logged, Expect{Root: &d.header.Root})
	superseding := d.logged(t, s, 0, 10, 11)
	superseding.Log = logPart(t, s, NewRecord(d.header, document.Location{URI: "file:docs/a.md", FetchedAt: testTime}, document.ID{9}), 10, 11)
	both("superseding record, last of 11", superseding, Expect{Key: s.Verifier()})
	binary := newTestDocument([][]byte{[]byte("first"), []byte("a\x00b\x1b\u2028<&> \"é\"\n\n\u2014 line\npassage 3\n"), []byte("third")})
	both("passage that looks like a proof", binary.logged(t, s, 1, 2, 3), Expect{Key: s.Verifier()})
	cosigned := d.logged(t, s, 3, 6, 11)
	cosigned.Log.Note = append(cosigned.Log.Note, "\u2014 witness.example AAAAAAECAwQ=\n"...)
	both("line of an unknown witness", cosigned, Expect{Key: s.Verifier()})
}
