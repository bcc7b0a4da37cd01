package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc/pdf"
)

// readDocuments checks the documents of an input and reads the text of those without one. The
// log has it then, so that every request, also after a restart, has the same.
func readDocuments(ctx context.Context, documents []event.Document) ([]event.Document, error) {
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
		if d.Text != "" || d.Problem != "" || d.Pages > 0 { // the client has read it
			continue
		}
		read, err := pdf.Extract(ctx, d.Data, 1, 0)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("cannot read the PDF %q: %w", d.Name, err)
		}
		d.Pages, d.Encrypted = read.Pages, read.Encrypted
		if d.Text, d.Problem = read.Join(); err != nil {
			d.Problem = err.Error() // models that take documents do not need it
		}
	}
	return documents, nil
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
