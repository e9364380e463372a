package crash_test

import (
	"fmt"
	"os"
	"testing"
)

// workVariable makes the test binary do its work instead of tests:
// FOLDER|ACKS|PLAN.
const workVariable = "ARBORIST_CRASH_WORK"

func TestMain(m *testing.M) {
	os.Unsetenv("CRAWL_DB") // images lie elsewhere
	if args := os.Getenv(workVariable); args != "" {
		if err := work(args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
