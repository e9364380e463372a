package realtext

import (
	"context"
	"fmt"
	"iter"
	"time"

	"arborist/document"
	"arborist/ingest"
	"arborist/ingest/extract"
)

// An Ingest is what it took to ingest texts.
type Ingest struct {
	Took, CPU time.Duration
	Passages  int
}

// Documents makes documents of texts, those without text left out.
func Documents(texts [][]byte) (docs []*document.Document) {
	for _, text := range texts {
		if d, err := document.New(text); err == nil {
			docs = append(docs, d)
		}
	}
	return docs
}

// A Set is what texts go into: a shard.Shared.
type Set interface {
	Store(context.Context, []document.Entry) ([]document.Outcome, error)
	Index(ctx context.Context, report func(left int)) error
}

// A sink makes a Set what the pipeline wants.
type sink struct{ Set }

// Index implements [ingest.Sink].
func (s sink) Index(ctx context.Context) error { return s.Set.Index(ctx, nil) }

// Into brings texts into a set by the pipeline, which extracts nothing from them.
func Into(ctx context.Context, s Set, texts iter.Seq[[]byte]) (in Ingest, err error) {
	start, startCPU := time.Now(), CPU()
	report, err := ingest.Run(ctx, source(texts), sink{s}, ingest.Config{Extract: asItIs}, nil)
	in.Took, in.CPU, in.Passages = time.Since(start), CPU()-startCPU, report.Chunks
	return in, err
}

// A source gives each text an address of its own.
type source iter.Seq[[]byte]

// Documents implements [ingest.Source].
func (s source) Documents(_ context.Context, emit func(ingest.Raw) error, _ func(string, error)) error {
	n := 0
	for text := range s {
		raw := ingest.Raw{Body: text, Location: document.Location{
			URI: fmt.Sprintf("test:%d", n), Source: "test", FetchedAt: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
		}}
		if err := emit(raw); err != nil {
			return err
		}
		n++
	}
	return nil
}

func asItIs(_ context.Context, contentType, _ string, body []byte) (extract.Text, error) {
	return extract.Text{Markdown: body, Extractor: "none/0", ContentType: contentType}, nil
}
