package peer

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that nothing of a closed peer runs on.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}
