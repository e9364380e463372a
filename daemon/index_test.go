package daemon

import "testing"

// A sync that is cut off when the daemon stops ends after its node is closed.
func TestACallThatEndsAfterItsNodeWakesNothing(t *testing.T) {
	n := openNode(t, newHome(t))
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		n.wakeIndexer()
	}
}
