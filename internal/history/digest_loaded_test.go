package history_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
)

func loaded(name, path, text string) event.ItemEnded {
	c := call("skill", `{"name":"`+name+`"}`, `{"skill":{"name":"`+name+`","path":"`+path+`","sha256":"ab"}}`)
	c.Output = text
	return c
}

// Loaded skills, and the instructions of folders, are sent again with a compaction: the latest
// version of each, unless it stays in the history.
func TestLoaded(t *testing.T) {
	s := newStory(t)
	long := strings.Repeat("long b ", 1000) + "."
	failed := loaded("c", "/c", "not loaded")
	failed.Status = event.ItemFailed
	s.turn("One.", event.Complete(), loaded("a", "/a", "old a"), failed, call("skill", `{}`, `{"skill":{}}`))
	s.turn("Two.", nil, loaded("b", "/b", long), loaded("a", "/a", "new a"))
	running := s.state.Running().ID
	item := s.state.NextItem(0)
	s.add(
		event.Event{Turn: running, Item: item, Data: event.ItemStarted{Type: event.Note}},
		event.Event{Turn: running, Item: item, Data: event.ItemEnded{
			Status: event.ItemCompleted, Content: event.Content{Type: event.Note, Text: "In web: tabs.", Instruction: "/web/AGENTS.md"},
		}},
	)
	s.add(event.Endings(s.state, event.Complete())...)
	s.turn("Three.", event.Complete(), loaded("d", "/d", "the d that stays"))

	from := &event.Place{Turn: s.state.Turns[2].ID}
	l := history.Read(s.state, history.Scope{From: from})
	section := func(text string) string {
		_, after, _ := strings.Cut(text, "Loaded before, and still in force:\n")
		after, _, _ = strings.Cut(after, "\n\n")
		return strings.TrimSpace(strings.ReplaceAll(after, long, "LONG"))
	}
	want := "- instructions in /web/AGENTS.md\nIn web: tabs.\n- the skill \"a\" (/a)\nnew a\n- the skill \"b\" (/b)\nLONG"
	if diff := cmp.Diff(want, section(l.Text(100<<10))); diff != "" {
		t.Error(diff)
	}
	want = "- instructions in /web/AGENTS.md\nIn web: tabs.\n- the skill \"a\" (/a)\nnew a\n- the skill \"b\" (/b): load it again with the skill tool before you continue the work that it covers"
	if diff := cmp.Diff(want, section(l.Text(3<<10))); diff != "" {
		t.Error(diff)
	}
	if text := l.Text(100); strings.Contains(text, "new a") ||
		!strings.Contains(text, "instructions in /web/AGENTS.md: read them again") {
		t.Errorf("without room: %s", text)
	}
	// All of it, except the parts that the provider refused.
	if text := history.Read(s.state, history.Scope{}).Text(100 << 10); !strings.Contains(text, "the d that stays") {
		t.Error(text)
	}
	if text := history.Read(s.state, history.Scope{First: 2}).Text(100 << 10); strings.Contains(text, "new a") {
		t.Error(text)
	}
	// If the kept history begins within a turn, the digest has the part of the turn before that
	// place.
	l = history.Read(s.state, history.Scope{From: &event.Place{Turn: s.state.Turns[1].ID, Attempts: 2}})
	if text := l.Text(100 << 10); !strings.Contains(text, "new a") {
		t.Error(text)
	}
	l = history.Read(s.state, history.Scope{From: &event.Place{Turn: s.state.Turns[1].ID, Attempts: 1}})
	if text := l.Text(100 << 10); strings.Contains(text, "new a") || !strings.Contains(text, "old a") {
		t.Error(text)
	}
}
