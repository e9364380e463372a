package peer

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"arborist/document"
)

// TestAPeerThatAsksForMuchWorkIsStopped: requests are few, what they cost is not.
func TestAPeerThatAsksForMuchWorkIsStopped(t *testing.T) {
	a := newNode(t).up(nil)
	small, large := entryOf(t, "doc:/small", "A small text."), entryOf(t, "doc:/large", textOf("large", 4<<20))
	a.publish("main", small, large)
	// A thousandth of a request a second: nothing comes back during the test.
	h, err := Handler(a.shared, ServeConfig{Rate: 0.001, Burst: 100})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(who string, e document.Entry) int {
		r := httptest.NewRequest(http.MethodGet, PathPrefix+a.origin("main")+"/doc/"+e.Document.Root().String(), nil)
		r.RemoteAddr = who + ":1"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	// Each large one costs 1 + 4 MiB / 128 KiB = 33 of 100.
	for i, want := range []int{200, 200, 200, 200, 429, 429} {
		if got := ask("192.0.2.1", large); got != want {
			t.Errorf("large document %d: status %d, want %d", i, got, want)
		}
	}
	if got := ask("192.0.2.1", small); got != 429 {
		t.Errorf("a small request of somebody in debt: %d, want 429", got)
	}
	for i := range 100 {
		if got := ask("192.0.2.2", small); got != 200 {
			t.Fatalf("request %d of somebody else: %d", i, got)
		}
	}
}

func TestWorkBeyondTheBucketIsChargedToo(t *testing.T) {
	gs := newGuests(ServeConfig{Rate: 0.001, Burst: 50})
	g := gs.enter("x")
	g.charge(500)
	if left := g.tokens.Tokens(); left > -450 {
		t.Errorf("%g requests are left of 50 after work for 500", left)
	}
}
