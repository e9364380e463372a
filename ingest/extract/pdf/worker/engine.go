package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"arborist/ingest/extract/pdf"
)

// memoryPages is how much memory PDFium may have, in pages of 64 KiB.
const memoryPages = 4096

// An engine is PDFium, compiled.
type engine struct{ pool pdfium.Pool }

// openEngine takes compiled code from the cache, and compiles where there is none
// that is sound. A cache that cannot be used costs time and nothing else.
func openEngine(cache string) (*engine, error) {
	var errs []error
	for _, prepare := range []func(string) (wazero.CompilationCache, error){openCache, renewCache, noCache} {
		c, err := prepare(cache)
		if err == nil {
			var e *engine
			if e, err = compile(c); err == nil {
				return e, nil
			}
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("compile PDFium: %w", errors.Join(errs...))
}

// openCache refuses a folder that others could have written to: what is in it is
// executed.
func openCache(dir string) (wazero.CompilationCache, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ok || int(owner.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%s is not a folder of this user alone", dir)
	}
	return wazero.NewCompilationCacheWithDir(dir)
}

// renewCache empties a folder that openCache accepts, for code that is damaged.
func renewCache(dir string) (wazero.CompilationCache, error) {
	if _, err := openCache(dir); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	return openCache(dir)
}

func noCache(string) (wazero.CompilationCache, error) { return wazero.NewCompilationCache(), nil }

func compile(cache wazero.CompilationCache) (*engine, error) {
	pool, err := webassembly.Init(webassembly.Config{
		Context:  experimental.WithMemoryAllocator(context.Background(), experimental.MemoryAllocatorFunc(allocate)),
		MaxTotal: 1,
		FSConfig: wazero.NewFSConfig(), // none: the default is all files of the machine
		RuntimeConfig: wazero.NewRuntimeConfigCompiler().
			WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling). // PDFium is built with them
			WithMemoryLimitPages(memoryPages).
			WithCompilationCache(cache),
		Stdout: io.Discard, Stderr: io.Discard,
		RandomSource: zeros{}, // the same bytes give the same text
	})
	if err != nil {
		return nil, err
	}
	return &engine{pool: pool}, nil
}

// zeros is a source of numbers that are not random.
type zeros struct{}

// Read implements [io.Reader].
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// read reads a file with an instance of its own, so that no file can change what
// is read of another. It hands frames to send, and returns the kind and content of the
// last one. Its error is send's.
func (e *engine) read(body []byte, send func(kind byte, payload string) error) (kind byte, why string, err error) {
	instance, err := e.pool.GetInstanceWithContext(context.Background())
	if err != nil {
		return pdf.OverLimit, reason(err), nil
	}
	opened, err := instance.OpenDocument(&requests.OpenDocument{File: &body})
	switch {
	case errors.Is(err, pdfiumerrors.ErrPassword), errors.Is(err, pdfiumerrors.ErrSecurity):
		return pdf.Encrypted, "", instance.Close()
	case errors.Is(err, pdfiumerrors.ErrFormat):
		return pdf.Damaged, "PDFium finds no document in it", instance.Close()
	case errors.Is(err, pdfiumerrors.ErrPage), errors.Is(err, pdfiumerrors.ErrUnknown):
		return pdf.Damaged, reason(err), instance.Close()
	case err != nil:
		return pdf.OverLimit, reason(err), nil
	}
	f := file{pdfium: instance, ref: opened.Document, send: send}
	switch err := f.read(); {
	case errors.Is(err, errSend):
		return 0, "", err
	case errors.Is(err, errDamaged):
		return pdf.Damaged, reason(err), instance.Close()
	case err != nil: // PDFium was stopped: it needs too much, or is led in circles
		return pdf.OverLimit, reason(err), nil
	}
	return pdf.End, "", instance.Close()
}

// reason is the first line of an error: after it, WebAssembly lists its stack.
func reason(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.Replace(line, "wasm error: unreachable", "PDFium gave up: it takes over 256 MiB or is built to exhaust it", 1)
}
