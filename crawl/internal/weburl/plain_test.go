package weburl

import (
	"testing"
)

// full reads as if nothing were plain.
func full(base, ref string) (string, error) {
	p := NewParser(DefaultTracking())
	u, err := p.Parse(base)
	if err != nil {
		return "", err
	}
	b, err := p.Base(u)
	if err != nil {
		return "", err
	}
	if _, err := b.full(""); err != nil {
		return "", err
	}
	b.url = URL{} // of no origin: never plain
	joined, err := b.Join(ref)
	return joined.String(), err
}

func plainPairs() [][2]string {
	var out [][2]string
	for _, base := range []string{"http://h/d/e?q#f", "https://h:8443/", "http://h/a/b/c/", "http://[::1]:81/x", "http://h//a//b"} {
		for _, ref := range []string{
			"x", "x/y.html", "../x", "../../../x", "..", ".", "./", "../", "/x", "/x/../y", "/..", "/./x", "?a=b", "?", "x?", "x?a&utm_source=b", "x?utm_source=b", "?utm_id=1", "x?a=b:c?d",
			"a:b", "x/:b", "//h2/x", "///x", "x//y", "x/..//y", "..x", "x..", "x/.y", ".../x", "x/.", "x/..", "%2e%2e/x", "x%zz", "x y", "x\\y", "\u00fc", "x'y", "x|y", "x^y", "?x'y", "?x^y", "x;y=1,2", "~x", "(x)", "x@y", "$x!*+", "",
		} {
			out = append(out, [2]string{base, ref})
		}
	}
	return out
}

func agree(t *testing.T, base, ref string) {
	t.Helper()
	want, wantErr := full(base, ref)
	p := NewParser(DefaultTracking())
	u, err := p.Parse(base)
	if err != nil {
		return
	}
	b, err := p.Base(u)
	if err != nil {
		return
	}
	got, err := b.Join(ref)
	if got.String() != want || (err == nil) != (wantErr == nil) {
		t.Fatalf("%q on %q: %q, %v; want %q, %v", ref, base, got, err, want, wantErr)
	}
	if err != nil {
		return
	}
	// The address that came out is one of a known origin; it must stay itself,
	// with all its parts.
	again, err := p.Parse(got.String())
	if err != nil || again != got {
		t.Fatalf("%q, read again: %q (%+v), %v", got, again, again, err)
	}
	fresh, err := NewParser(DefaultTracking()).Parse(got.String())
	if err != nil || fresh != got {
		t.Fatalf("%q: %+v, want %+v, %v", got, got, fresh, err)
	}
}

func TestPlainAgreesWithTheFullParser(t *testing.T) {
	for _, pair := range plainPairs() {
		agree(t, pair[0], pair[1])
	}
}

func FuzzPlainAgreesWithTheFullParser(f *testing.F) {
	for _, pair := range plainPairs() {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(agree)
}
