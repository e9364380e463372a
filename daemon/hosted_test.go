package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arborist/daemon/api"
)

func TestHostedKeyIsReadFromWhereOnlyItsOwnerReads(t *testing.T) {
	t.Setenv(hostedKeyEnv, "")
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		os.Chmod(path, mode)
		return path
	}
	for path, want := range map[string]string{
		"":                                    "",
		write("good", "fc-secret\n", 0o600):   "fc-secret",
		write("strict", " fc-secret", 0o400):  "fc-secret",
		write("readable", "fc-secret", 0o640): "chmod 600",
		write("world", "fc-secret", 0o604):    "chmod 600",
		write("empty", "\n", 0o600):           "write the key into it",
		filepath.Join(dir, "missing"):         "ARBORIST_HOSTED_KEY",
		dir:                                   "give a plain file",
	} {
		got, err := hostedKey(path)
		if err != nil {
			var e *api.Error
			if !errors.As(err, &e) || got != "" || !strings.Contains(e.Hint, want) || strings.HasPrefix(want, "fc-") || want == "" {
				t.Errorf("%s: %q, %v", path, got, err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: the key is in the error: %v", path, err)
			}
			continue
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	t.Setenv(hostedKeyEnv, "from-the-environment")
	if got, err := hostedKey(filepath.Join(dir, "world")); got != "from-the-environment" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
