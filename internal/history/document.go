package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc/pdf"
	"github.com/settle-agent/settle/model"
)

// attach adds the input's documents to its item: as documents where the model takes them and has
// room for them, else their text. It returns the former with their text, which the item leaves out.
func (w *walk) attach(item *model.Item, in event.Input) (documents []event.Document) {
	pages := 0
	for _, d := range in.Documents {
		why := w.documentOmitted(in, d, pages)
		if why != "" {
			item.Text = appendLine(item.Text, documentText(d, why))
			continue
		}
		pages += max(d.Pages, 1)
		documents = append(documents, d)
		d.Text, d.Problem = "", "" // the model has the document itself
		item.Documents = append(item.Documents, d)
	}
	return documents
}

// documentOmitted returns the reason why the model does not receive the document itself, "" if
// there is none. It receives so many pages of other documents of the same input.
func (w *walk) documentOmitted(in event.Input, d event.Document, pages int) string {
	switch limit := w.target.DocumentPages; {
	case limit == 0:
		return "the model does not take PDFs"
	case d.Encrypted:
		return "it is encrypted"
	case d.Pages > limit:
		return fmt.Sprintf("the model takes PDFs of at most %d pages", limit)
	case w.refused.omitDocuments[in.ID]:
		return "the provider refused it"
	case w.window > 0 && d.Text != "" && (pages+d.Pages)*w.target.pageTokens() > w.room():
		return "its pages do not fit the model's window"
	}
	return ""
}

// documentText is a document for a model that does not receive it.
func documentText(d event.Document, why string) string {
	name := documentName(d)
	switch {
	case d.Text == "":
		return fmt.Sprintf("[%s: omitted because %s; settle read no text in it: %q]", name, why,
			cmp.Or(d.Problem, "it was not read"))
	case d.Problem != "":
		d.Text += fmt.Sprintf("\n[not complete: %s]", d.Problem)
	}
	return Framed(fmt.Sprintf("The text of %s, a PDF of %s: %s", name, pdf.Pages(d.Pages), why), name, d.Text)
}

// Framed returns a text between lines that name a mark, so that the text cannot pose as the words
// after it. heading is the first line, name the name of the text.
func Framed(heading, name, text string) string {
	return fmt.Sprintf("[%s; it ends at the mark %s]\n%s\n[end of %s, mark %[2]s]", heading, endMark(text), text, name)
}

// endMark returns a mark that the text does not contain. It depends on the text alone: each request
// has the same.
func endMark(text string) string {
	for sum := sha256.Sum256([]byte(text)); ; sum = sha256.Sum256(sum[:]) {
		if mark := hex.EncodeToString(sum[:6]); !strings.Contains(text, mark) {
			return mark
		}
	}
}

// documentName returns the quoted name of a document, which is one line.
func documentName(d event.Document) string { return strconv.Quote(cmp.Or(d.Name, "document.pdf")) }
