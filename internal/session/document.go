package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc/pdf"
	"github.com/settle-agent/settle/internal/scope"
)

// ReadDocuments checks the documents of an input. If a document has neither pages nor text, it
// reads them. Then the log has the text, so that every request, also after a restart, has the same
// text. [Session.Submit] calls it as well, under its own ctx: a client that bounds Submit otherwise
// calls ReadDocuments first.
func ReadDocuments(ctx context.Context, documents []event.Document) ([]event.Document, error) {
	documents = slices.Clone(documents)
	for n := range documents {
		d := &documents[n]
		switch {
		case len(d.Data) == 0:
			return nil, &DocumentError{n + 1, d.Name, "it is empty"}
		case !pdf.IsPDF(d.Data):
			return nil, &DocumentError{n + 1, d.Name, "it is no PDF"}
		case len(d.Data) > pdf.MaxBytes:
			return nil, &DocumentError{n + 1, d.Name, fmt.Sprintf("it has more than %d MB", pdf.MaxBytes>>20)}
		}
		d.MediaType = pdf.MediaType
	}
	var reads sync.WaitGroup
	for n := range documents {
		if d := &documents[n]; d.Text == "" && d.Problem == "" && d.Pages == 0 {
			// Ends with ctx, or within the extractor's timeout.
			reads.Go(scope.Shield(func(err error) { d.Problem = err.Error() }, func() { readDocument(ctx, d) }))
		}
	}
	reads.Wait()
	if ctx.Err() != nil && len(documents) > 0 {
		return nil, fmt.Errorf("cannot read the PDF %q: %w", documents[0].Name, context.Cause(ctx))
	}
	return documents, nil
}

// readDocument reads one document. The extractor bounds how many are read at the same time.
func readDocument(ctx context.Context, d *event.Document) {
	read, err := pdf.Extract(ctx, d.Data, 1, 0)
	d.Pages, d.Encrypted = read.Pages, read.Encrypted
	if d.Text, d.Problem = read.Join(); err != nil {
		d.Problem = err.Error() // models that take documents do not need it
	}
}

// DocumentError refuses a document that is no PDF, or too long.
type DocumentError struct {
	Number int // from 1
	Name   string
	Why    string
}

func (e *DocumentError) Error() string {
	return fmt.Sprintf("cannot accept document %d (%q): %s", e.Number, e.Name, strings.ToValidUTF8(e.Why, ""))
}
