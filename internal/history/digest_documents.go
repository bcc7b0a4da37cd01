package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/proc/pdf"
)

// maxNamedDocuments bounds the names of documents in the line of an input.
const maxNamedDocuments = 10

// documentsLine names the documents of an input.
func documentsLine(documents []event.Document) string {
	if len(documents) == 0 {
		return ""
	}
	var names []string
	for _, d := range documents[:min(len(documents), maxNamedDocuments)] {
		names = append(names, fmt.Sprintf("the PDF %s (%s)", oneLine(documentName(d)), pdf.Pages(d.Pages)))
	}
	if more := len(documents) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more PDFs", more))
	}
	return ", with " + strings.Join(names, ", ")
}

// writeDocuments writes the texts of the documents that a compaction removes, within so many bytes;
// the latest documents come first.
func (l Digest) writeDocuments(b *strings.Builder, room bound.Budget) {
	const why = "the PDF itself was removed to make room"
	begun := false
	for _, i := range slices.Backward(l.Inputs) {
		for _, d := range i.Documents {
			if i.Omitted || d.Text == "" || room.Left() < minDocument {
				continue
			}
			if !begun {
				heading(b, "PDFs of earlier user messages", 0)
				begun = true
			}
			d.Text = fold(d.Text, room.Left(), l.where(i))
			room.Take(len(d.Text))
			fmt.Fprintf(b, "%s\n", documentText(d, why))
		}
	}
}

// minDocument is the smallest useful part of a document's text in bytes.
const minDocument = 512
