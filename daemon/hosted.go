package daemon

import (
	"fmt"
	"io"
	"os"
	"strings"

	"arborist/daemon/api"
)

// hostedKeyEnv is the environment variable with the key of the rendering
// service.
const hostedKeyEnv = "ARBORIST_HOSTED_KEY"

// hostedKey gives the key of the rendering service: that of the environment,
// else that in the file at path, "" where there is neither. Errors name the
// file and never hold what is in it.
func hostedKey(path string) (string, error) {
	if key := os.Getenv(hostedKeyEnv); key != "" || path == "" {
		return key, nil
	}
	fail := func(code api.Code, hint, format string, args ...any) (string, error) {
		return "", api.NewError(code, fmt.Errorf("read hosted_key_file "+path+": "+format, args...), hint)
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(api.CodeNotFound, "correct hosted_key_file in config.toml, or set "+hostedKeyEnv, "%w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return fail(api.CodeFailed, "", "%w", err)
	case !info.Mode().IsRegular():
		return fail(api.CodeUsage, "give a plain file", "not a regular file")
	case info.Mode().Perm()&0o077 != 0:
		return fail(api.CodeDenied, "chmod 600 "+path, "others may read it (mode %04o)", info.Mode().Perm())
	}
	b, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err != nil {
		return fail(api.CodeFailed, "", "%w", err)
	}
	key := strings.TrimSpace(string(b))
	if key == "" {
		return fail(api.CodeUsage, "write the key into it", "it is empty")
	}
	return key, nil
}
