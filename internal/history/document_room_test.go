package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/model"
)

// pdfOf returns a document with so many pages and a short text.
func pdfOf(name string, pages int) event.Document {
	return event.Document{Data: []byte("%PDF"), Name: name, Pages: pages, Text: "The words of " + name + "."}
}

func documentsOf(b history.BuiltRequest) (sent []string, texts string) {
	for _, i := range b.Input {
		texts += i.Text + "\n"
		for _, d := range i.Documents {
			sent = append(sent, d.Name)
		}
	}
	return sent, texts
}

// noRoomForDocuments is a provider that has no room for documents, and otherwise answers as others do.
func noRoomForDocuments(others provider) provider {
	return func(b history.BuiltRequest) *model.Error {
		if sent, _ := documentsOf(b); len(sent) > 0 {
			err := model.NewError(model.ErrContext, "prompt is too long")
			err.Status = 400
			return err
		}
		return others(b)
	}
}

// Documents whose pages fit the window are sent as documents, and all others as text.
func TestDocumentsFitWindow(t *testing.T) {
	to := reads()
	to.DocumentPages, to.Window, to.MaxOutput = 1000, 50_000, 10_000
	small := to
	small.PageTokens = 100 // the model's own
	for name, c := range map[string]struct {
		to    history.Target
		pages []int
		want  string
	}{
		"one that fits":           {to, []int{10}, "[0.pdf]"},
		"one too long":            {to, []int{100}, "[]"},
		"the second does not fit": {to, []int{10, 10, 2}, "[0.pdf 2.pdf]"},
		"pages of few tokens":     {small, []int{100, 100}, "[0.pdf 1.pdf]"},
	} {
		p := newTape(t)
		in := event.InputAccepted{Input: p.state.NextInput(), Text: "Sum up."}
		for n, pages := range c.pages {
			in.Documents = append(in.Documents, pdfOf(fmt.Sprintf("%d.pdf", n), pages))
		}
		p.add(
			event.Event{Data: in},
			event.Event{Turn: p.state.NextTurn(), Data: event.TurnStarted{Inputs: []string{in.Input}}},
		)
		sent, texts := documentsOf(history.Request(p.state, c.to, "", nil))
		if fmt.Sprint(sent) != c.want {
			t.Errorf("%s: %v", name, sent)
		}
		for n := range c.pages {
			file := fmt.Sprintf("%d.pdf", n)
			if strings.Contains(texts, "words of "+file) == strings.Contains(c.want, file) {
				t.Errorf("%s: %s, with the texts %q", name, file, texts)
			}
		}
	}
}

// C6: a provider that has no room for a document receives its text; later turns do not ask again.
func TestDocumentWithoutRoomBecomesText(t *testing.T) {
	to := reads()
	to.DocumentPages = 1000
	accepts := noRoomForDocuments(func(history.BuiltRequest) *model.Error { return nil })
	for _, window := range []int{0, 1_000_000} {
		to.Window = window
		p := newTape(t).turn("first").attempt().text("fine").endAttempt().ends(event.Complete()).
			read(pdfOf("a.pdf", 80))
		b, n, r := p.asks(to, accepts)
		if _, texts := documentsOf(b); accepts(b) != nil || n != 1 || !strings.Contains(texts, "words of a.pdf") ||
			!strings.Contains(texts, "first") {
			t.Errorf("window %d: %d refusals, %+v: %q", window, n, r, texts)
		}
		p.text("fine").endAttempt().ends(event.Complete()).turn("next")
		b, n, _ = p.asks(to, accepts)
		if _, texts := documentsOf(b); n > 0 || !strings.Contains(texts, "words of a.pdf") {
			t.Errorf("window %d, the next turn: %d refusals, %q", window, n, texts)
		}
	}
}

// If the text of a document is too long as well, the advice is about the document.
func TestAdviceAboutDocumentTooLong(t *testing.T) {
	d := pdfOf("a.pdf", 80)
	d.Text = strings.Repeat("word ", 100_000)
	to := reads()
	to.DocumentPages = 1000
	_, n, r := newTape(t).read(d).asks(to, noRoomForDocuments(holds(32_000, 3, "too long")))
	if r.Retry || !strings.Contains(r.Note, "Attach fewer pages") || n > 5 {
		t.Errorf("%d refusals: %+v", n, r)
	}
}

// A document of an earlier turn without room is replaced by its text.
func TestShorteningKeepsTextOfDocuments(t *testing.T) {
	to := reads()
	to.DocumentPages, to.Window, to.MaxOutput = 1000, 50_000, 10_000
	p := newTape(t).read(pdfOf("a.pdf", 14)).attempt().text("fine").endAttempt().ends(event.Complete())
	b := history.Request(p.turn(strings.Repeat("word ", 12_000)).state, to, "", nil)
	sent, texts := documentsOf(b)
	if len(sent) > 0 || !strings.Contains(texts, "there was no room for it; it ends") ||
		!strings.Contains(texts, "words of a.pdf") {
		t.Errorf("sent %v, %.300q", sent, texts)
	}
	if len(b.Changes) != 1 {
		t.Errorf("changes %+v", b.Changes)
	}
}

// A compaction keeps the names of documents, and their texts as far as there is room.
func TestDigestKeepsDocuments(t *testing.T) {
	p := newTape(t)
	for _, name := range []string{"old.pdf", "new.pdf"} {
		d := pdfOf(name, 3)
		d.Text += strings.Repeat(" word", 2_000)
		p.read(d).attempt().text("fine").endAttempt().ends(event.Complete())
	}
	digest := history.Read(p.state, history.Scope{})
	for room, want := range map[int][]string{
		1 << 20: {"words of old.pdf", "words of new.pdf"}, 14 << 10: {"words of new.pdf"}, 2 << 10: nil,
	} {
		text := digest.Text(room)
		if len(text) > room || !strings.Contains(text, `with the PDF "old.pdf" (3 pages)] Sum up.`) {
			t.Errorf("%d bytes in a room of %d:\n%.500s", len(text), room, text)
		}
		if got := strings.Count(text, "words of"); got != len(want) {
			t.Errorf("in %d bytes, %d texts:\n%.3000s", room, got, text)
		}
		for _, words := range want {
			if !strings.Contains(text, words) {
				t.Errorf("in %d bytes, %q is missing", room, words)
			}
		}
	}
	if n := strings.Count(digest.Text(1<<20), "it ends at the mark"); n != 2 {
		t.Errorf("%d texts are between marks", n)
	}
}
