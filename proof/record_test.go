package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"arborist/document"
)

func testRecords(t testing.TB) (add, supersede, withdraw Record) {
	d := newTestDocument(numbered(3))
	add = d.record("https://example.org/a?b=1&c=<2>")
	supersede = add
	supersede.Op, supersede.Supersedes = OpSupersede, document.ID{7}
	return add, supersede, add.Withdrawal(testTime.Add(time.Hour))
}

func TestRecordsSurviveTheirLine(t *testing.T) {
	add, supersede, withdraw := testRecords(t)
	plain := add
	plain.Title, plain.Source, plain.URI = "", "", "u"
	for _, r := range []Record{add, supersede, withdraw, plain} {
		line, err := r.Line()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseRecord(line)
		if err != nil || got != r {
			t.Errorf("%s\nparsed as %+v, %v", line, got, err)
		}
		// Whoever writes records with an ordinary JSON encoder gets our bytes.
		var fields struct {
			Op         Op           `json:"op"`
			ID         document.ID  `json:"id"`
			Root       *string      `json:"root,omitempty"`
			Chunks     *uint64      `json:"chunks,omitempty"`
			Bytes      *uint64      `json:"bytes,omitempty"`
			Norm       *string      `json:"norm,omitempty"`
			Chunker    *string      `json:"chunker,omitempty"`
			URI        string       `json:"uri"`
			Title      *string      `json:"title,omitempty"`
			Source     *string      `json:"source,omitempty"`
			Fetched    time.Time    `json:"fetched"`
			Supersedes *document.ID `json:"supersedes,omitempty"`
		}
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(fields); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(b.String(), "\n"); got != string(line) {
			t.Errorf("encoding/json gives\n%s, we\n%s", got, line)
		}
	}
}

func TestRecordLineIsAsDocumented(t *testing.T) {
	add, _, withdraw := testRecords(t)
	line, _ := add.Line()
	want := `{"op":"add","id":"` + add.ID.String() + `","root":"` + add.Header.Root.String() + `","chunks":3,"bytes":60,` +
		`"norm":"norm-v2","chunker":"block-v1","uri":"https://example.org/a?b=1&c=<2>",` +
		`"title":"A \"quoted\" title — with \\ and é","source":"directory","fetched":"2026-11-30T03:50:00Z"}`
	if string(line) != want {
		t.Errorf("line\n%s\nwant\n%s", line, want)
	}
	line, _ = withdraw.Line()
	want = `{"op":"withdraw","id":"` + add.ID.String() + `","uri":"https://example.org/a?b=1&c=<2>","fetched":"2026-11-30T04:50:00Z"}`
	if string(line) != want {
		t.Errorf("line\n%s\nwant\n%s", line, want)
	}
}

type recordSpelling struct {
	op Op
	spelling
}

// recordSpellings lists, for the record of each operation, its valid line and
// other spellings of it.
func recordSpellings(t *testing.T) (lines map[Op]string, rows []recordSpelling) {
	add, supersede, withdraw := testRecords(t)
	lines = map[Op]string{}
	for _, r := range []Record{add, supersede, withdraw} {
		line, err := r.Line()
		if err != nil {
			t.Fatal(err)
		}
		lines[r.Op] = string(line)
	}
	id := add.ID.String()
	return lines, []recordSpelling{
		{OpAdd, spelling{"white space before", `{"op"`, ` {"op"`}},
		{OpAdd, spelling{"white space inside", `{"op"`, `{ "op"`}},
		{OpAdd, spelling{"white space after a colon", `"chunks":3`, `"chunks": 3`}},
		{OpAdd, spelling{"tab", `,"root"`, ",\t\"root\""}},
		{OpAdd, spelling{"line end inside", `,"root"`, ",\n\"root\""}},
		{OpAdd, spelling{"order", `"chunks":3,"bytes":60`, `"bytes":60,"chunks":3`}},
		{OpAdd, spelling{"key twice", `"chunks":3`, `"chunks":3,"chunks":3`}},
		{OpAdd, spelling{"unknown key", `"chunks":3`, `"size":1,"chunks":3`}},
		{OpAdd, spelling{"unknown key at the end", `Z"}`, `Z","x":1}`}},
		{OpAdd, spelling{"key in another case", `"chunks"`, `"Chunks"`}},
		{OpAdd, spelling{"escaped key", `"chunks"`, `"\u0063hunks"`}},
		{OpAdd, spelling{"key missing", `"title":"A \"quoted\" title — with \\ and é",`, ``}},
		{OpAdd, spelling{"leading zero", `"chunks":3`, `"chunks":03`}},
		{OpAdd, spelling{"plus", `"chunks":3`, `"chunks":+3`}},
		{OpAdd, spelling{"exponent", `"chunks":3`, `"chunks":3e0`}},
		{OpAdd, spelling{"fraction", `"chunks":3`, `"chunks":3.0`}},
		{OpAdd, spelling{"string for a number", `"chunks":3`, `"chunks":"3"`}},
		{OpAdd, spelling{"null", `"chunks":3`, `"chunks":null`}},
		{OpAdd, spelling{"no chunks", `"chunks":3`, `"chunks":0`}},
		{OpAdd, spelling{"another count", `"chunks":3`, `"chunks":4`}},
		{OpAdd, spelling{"another length", `"bytes":60`, `"bytes":61`}},
		{OpAdd, spelling{"more chunks than bytes", `"bytes":60`, `"bytes":2`}},
		{OpAdd, spelling{"another norm", `norm-v2`, `norm-v3`}},
		{OpAdd, spelling{"norm that is no name", `norm-v2`, `Norm v2`}},
		{OpAdd, spelling{"another ID", id, document.ID{1}.String()}},
		{OpAdd, spelling{"upper-case ID", id, strings.ToUpper(id)}},
		{OpAdd, spelling{"ID of another codec", id, "bafybei" + id[7:]}},
		{OpAdd, spelling{"short ID", id, id[:58]}},
		{OpAdd, spelling{"long ID", id, id + "a"}},
		{OpAdd, spelling{"zero root", add.Header.Root.String(), document.Root{}.String()}},
		{OpAdd, spelling{"escaped letter", `"uri":"h`, `"uri":"\u0068`}},
		{OpAdd, spelling{"escaped slash", `https://`, `https:\/\/`}},
		{OpAdd, spelling{"escaped &", `&`, `\u0026`}},
		{OpAdd, spelling{"escaped é", `é`, `\u00e9`}},
		{OpAdd, spelling{"escaped quote in hexadecimal", `\"`, `\u0022`}},
		{OpAdd, spelling{"escaped newline", `é`, `\n`}},
		{OpAdd, spelling{"raw newline", `é`, "\n"}},
		{OpAdd, spelling{"raw tab", `é`, "\t"}},
		{OpAdd, spelling{"raw zero", `é`, "\x00"}},
		{OpAdd, spelling{"raw DEL", `é`, "\x7f"}},
		{OpAdd, spelling{"raw C1", `é`, "\u009b"}},
		{OpAdd, spelling{"raw line separator", `é`, "\u2028"}},
		{OpAdd, spelling{"not UTF-8", `é`, "\xe9"}},
		{OpAdd, spelling{"surrogate in UTF-8", `é`, "\xed\xa0\x80"}},
		{OpAdd, spelling{"overlong slash", `é`, "\xc0\xaf"}},
		{OpAdd, spelling{"backslash before the quote", `é"`, `é\"`}},
		{OpAdd, spelling{"no URI", `https://example.org/a?b=1&c=<2>`, ``}},
		{OpAdd, spelling{"time with an offset", `00Z`, `00+00:00`}},
		{OpAdd, spelling{"time in lower case", `T03:50:00Z`, `t03:50:00z`}},
		{OpAdd, spelling{"time with a fraction", `00Z`, `00.0Z`}},
		{OpAdd, spelling{"time with a comma fraction", `00Z`, `00,5Z`}},
		{OpAdd, spelling{"time without seconds", `T03:50:00Z`, `T03:50Z`}},
		{OpAdd, spelling{"one-digit hour", `T03:`, `T3:`}},
		{OpAdd, spelling{"hour 24", `T03:`, `T24:`}},
		{OpAdd, spelling{"leap second", `:00Z`, `:60Z`}},
		{OpAdd, spelling{"30 February", `11-30`, `02-30`}},
		{OpAdd, spelling{"year of five digits", `2026`, `12026`}},
		{OpAdd, spelling{"no time", `2026-11-30T03:50:00Z`, ``}},
		{OpAdd, spelling{"zero time", `2026-11-30T03:50:00Z`, `0001-01-01T00:00:00Z`}},
		{OpAdd, spelling{"op in upper case", `"add"`, `"ADD"`}},
		{OpAdd, spelling{"unknown op", `"add"`, `"remove"`}},
		{OpAdd, spelling{"add that supersedes", `Z"}`, `Z","supersedes":"` + document.ID{7}.String() + `"}`}},
		{OpAdd, spelling{"supersede without its ID", `"add"`, `"supersede"`}},
		{OpAdd, spelling{"withdraw with everything", `"add"`, `"withdraw"`}},
		{OpAdd, spelling{"newline at the end", `Z"}`, "Z\"}\n"}},
		{OpAdd, spelling{"two records", `Z"}`, `Z"}{}`}},
		{OpSupersede, spelling{"add with a superseded ID", `"supersede"`, `"add"`}},
		{OpSupersede, spelling{"supersedes zero", document.ID{7}.String(), document.ID{}.String()}},
		{OpSupersede, spelling{"supersedes itself", document.ID{7}.String(), id}},
		{OpWithdraw, spelling{"withdraw with a title", `,"fetched"`, `,"title":"","fetched"`}},
		{OpWithdraw, spelling{"withdraw as add", `"withdraw"`, `"add"`}},
	}
}

func TestRecordHasOneSpelling(t *testing.T) {
	lines, rows := recordSpellings(t)
	for _, row := range rows {
		if r, err := ParseRecord(respell(t, lines[row.op], row.spelling)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s %s: %+v, %v", row.op, row.name, r, err)
		}
	}
	for op, line := range lines {
		for n := range line {
			if _, err := ParseRecord([]byte(line[:n])); !errors.Is(err, ErrTruncated) {
				t.Errorf("%s after %d bytes: %v", op, n, err)
			}
		}
	}
}

func TestRecordLimitsHoldBothWays(t *testing.T) {
	add, _, _ := testRecords(t)
	for _, row := range []struct {
		name   string
		change func(*Record)
		want   error
	}{
		{"URI at its limit", func(r *Record) { r.URI = strings.Repeat("u", MaxURI) }, nil},
		{"URI over its limit", func(r *Record) { r.URI = strings.Repeat("u", MaxURI+1) }, ErrTooLarge},
		{"title at its limit", func(r *Record) { r.Title = strings.Repeat("t", MaxTitle) }, nil},
		{"title over its limit", func(r *Record) { r.Title = strings.Repeat("t", MaxTitle+1) }, ErrTooLarge},
		{"source over its limit", func(r *Record) { r.Source = strings.Repeat("s", MaxSource+1) }, ErrTooLarge},
		{"line over its limit by escapes", func(r *Record) { r.URI = strings.Repeat(`"`, MaxURI) }, ErrTooLarge},
		{"half a second", func(r *Record) { r.FetchedAt = r.FetchedAt.Add(time.Second / 2) }, ErrFormat},
		{"no time", func(r *Record) { r.FetchedAt = time.Time{} }, ErrFormat},
		{"year 10000", func(r *Record) { r.FetchedAt = r.FetchedAt.AddDate(8000, 0, 0) }, ErrFormat},
		{"another zone is the same instant", func(r *Record) { r.FetchedAt = r.FetchedAt.In(time.FixedZone("x", 7200)) }, nil},
		{"no ID", func(r *Record) { r.ID = document.ID{} }, ErrTampered},
		{"ID of another header", func(r *Record) { r.Header.Bytes++ }, ErrTampered},
		{"no header", func(r *Record) { r.Header = document.Header{} }, ErrFormat},
		{"add that supersedes", func(r *Record) { r.Supersedes = document.ID{7} }, ErrFormat},
		{"supersede of nothing", func(r *Record) { r.Op = OpSupersede }, ErrFormat},
		{"supersede of itself", func(r *Record) { r.Op, r.Supersedes = OpSupersede, r.ID }, ErrFormat},
		{"no op", func(r *Record) { r.Op = "" }, ErrFormat},
		{"op with a quote", func(r *Record) { r.Op = `add","x":"` }, ErrFormat},
		{"withdraw with a header", func(r *Record) { r.Op = OpWithdraw }, ErrFormat},
		{"withdraw without an ID", func(r *Record) { *r = Record{Op: OpWithdraw, URI: "u", FetchedAt: testTime} }, ErrFormat},
		{"newline in the URI", func(r *Record) { r.URI = "a\nb" }, ErrFormat},
	} {
		r := add
		row.change(&r)
		line, err := r.Line()
		if !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
		if err == nil {
			if got, err := ParseRecord(line); err != nil || !got.FetchedAt.Equal(r.FetchedAt) {
				t.Errorf("%s: parsed as %+v, %v", row.name, got, err)
			}
		}
	}
	if _, err := ParseRecord(bytes.Repeat([]byte("x"), MaxRecord+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("line over the cap: %v", err)
	}
}

func TestNewRecordIsValidForAnyTitleAndTime(t *testing.T) {
	h := newTestDocument(numbered(2)).header
	for _, title := range []string{
		"", " a \t b\n", "\x00\x1b[31mred\x1b[0m", "bad \xff byte", "\u2028\u0085",
		strings.Repeat("é", MaxTitle), strings.Repeat("a", MaxTitle-1) + "é", strings.Repeat("a", MaxTitle-1) + "🌲",
		strings.Repeat("\xff", MaxTitle), strings.Repeat(" ", 3*MaxTitle) + "end",
	} {
		r := NewRecord(h, document.Location{URI: "u", Title: title, FetchedAt: testTime.Add(123456789).In(time.FixedZone("x", 3600))}, document.ID{3})
		line, err := r.Line()
		if err != nil {
			t.Errorf("title %.40q: %v", title, err)
			continue
		}
		if got, err := ParseRecord(line); err != nil || got != r || got.Op != OpSupersede {
			t.Errorf("title %.40q: %+v, %v", title, got, err)
		}
		if len(r.Title) > MaxTitle || !utf8.ValidString(r.Title) {
			t.Errorf("title %.40q became %d bytes, valid UTF-8: %v", title, len(r.Title), utf8.ValidString(r.Title))
		}
		if TrimTitle(r.Title) != r.Title {
			t.Errorf("title %.40q: trimmed twice it changes", title)
		}
	}
	if got := TrimTitle(" a\tb\n"); got != "a b" {
		t.Errorf("TrimTitle gives %q", got)
	}
}
