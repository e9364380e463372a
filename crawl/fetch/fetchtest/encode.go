package fetchtest

import (
	"bytes"
	"compress/gzip"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Gzip gives body in content coding gzip.
func Gzip(body []byte) []byte {
	return encode(body, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}

// Brotli gives body in content coding br.
func Brotli(body []byte) []byte {
	return encode(body, func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) })
}

// Zstd gives body in content coding zstd.
func Zstd(body []byte) []byte {
	return encode(body, func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err) // the options are constants
		}
		return z
	})
}

// encode writes to memory, where nothing can fail.
func encode(body []byte, open func(io.Writer) io.WriteCloser) []byte {
	var b bytes.Buffer
	w := open(&b)
	w.Write(body)
	w.Close()
	return b.Bytes()
}
