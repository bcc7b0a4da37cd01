package run

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/stdio"
)

// drawing returns a view with a drawable terminal, and a function that returns the output to the
// terminal.
func drawing(t *testing.T, width int) (s *textView, written func() string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	fatal := func(err error) { t.Error(err) }
	out, errs := stdio.NewOutput(&stdout, fatal), stdio.NewOutput(&stderr, fatal)
	s = newTextView(
		oneturn.Stage{Out: out, Err: errs},
		Options{Format: Terminal, StatusTerminal: &StatusTerminal{Width: func() int { return width }}},
	)
	t.Cleanup(func() {
		if err := out.Close(forever); err != nil {
			t.Error(err)
		}
		_ = errs.Close(forever)
	})
	return s, func() string {
		out.Flush()
		errs.Flush()
		text := stderr.String()
		stderr.Reset()
		return text
	}
}

// The status shows the running work with its duration and the end of its output, and is erased
// before anything else is written.
func TestStatus(t *testing.T) {
	s, written := drawing(t, 40)
	l := newLog(t, s.show)
	s.volume = Quiet
	l.write(event.SessionOpened{}, event.TurnStarted{}, event.ItemStarted{Type: event.ToolCall, Name: "shell"})
	s.volume = Normal
	l.write(event.CallStarted{Title: "make\x1b[2J all"})
	began := time.Unix(int64(l.seq)-1, 0)
	l.write(
		event.ItemDelta{
			Stream: event.Output,
			Text:   "one\ntwo\n\nthree\n10%\r20%\r" + strings.Repeat("wide 語 ", 20) + "\nlast\u202e",
		},
	)
	if got := written(); got != "→ make␛[2J all\n" {
		t.Errorf("written: %q", got)
	}
	s.draw(began.Add(100 * time.Millisecond))
	if got := written(); got != "" {
		t.Errorf("so soon: %q", got)
	}
	s.draw(began.Add(12 * time.Second))
	want := "  │ three\n  │ wide 語 wide 語 wide 語 wide 語 wi…\n  │ last\\u202e\n⠋ make␛[2J all 12 s"
	if diff := cmp.Diff(want, written()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	code := 2
	l.write(
		event.ItemEnded{
			Status:  event.ItemFailed,
			Content: event.Content{Type: event.ToolCall, Name: "shell", ExitCode: &code},
		},
	)
	if got := written(); got != "\r\x1b[A\x1b[A\x1b[A\x1b[J  make␛[2J all: exit code 2 after 2 s\n" {
		t.Errorf("written: %q", got)
	}
	l.write(
		event.AttemptEnded{Outcome: event.Completed},
		event.TurnCompleted{
			Summary: event.Summary{Attempts: 1, Usage: event.Usage{Input: 12_340, CacheRead: 9_872, Output: 12}},
		},
	)
	s.draw(began.Add(time.Hour))
	if got := written(); got != "" {
		t.Errorf("after the end: %q", got)
	}
	s.Close("settle run --resume s PROMPT")
	if got := written(); !strings.HasSuffix(
		got,
		": 1 request, 1 call,\n12.3k tokens in (80% cached), 12 out;\ncontinue with:\n  settle run --resume s PROMPT\n",
	) {
		t.Errorf("closing: %q", got)
	}
}

// No line of the status is wider than the terminal, whatever it shows.
func TestFit(t *testing.T) {
	for _, text := range []string{
		"short", strings.Repeat("x", 200), strings.Repeat("語", 50), "a\tb\n\x1b[31mc",
		strings.Repeat("👩‍🚀", 30),
	} {
		for _, width := range []int{2, 10, 40} {
			s := &textView{
				tty:   &StatusTerminal{Width: func() int { return width }},
				calls: []*runningCall{{title: text, tail: text, began: time.Unix(0, 0)}},
			}
			for _, line := range s.lines(time.Unix(9, 0)) {
				if got := line.Text(); line.Width() >= width || strings.ContainsAny(got, "\n\x1b\t") {
					t.Errorf("%q at %d columns: %q", text, width, got)
				}
			}
		}
	}
}

// At a terminal, the answer, the notices and the question break between words.
func TestTextBreaksBetweenWords(t *testing.T) {
	s, written := drawing(t, 24)
	l := newLog(t, s.show)
	l.write(event.SessionOpened{}, event.TurnStarted{})
	written()
	l.write(event.ItemStarted{Type: event.Reasoning})
	s.volume = Verbose
	for _, text := range []string{"It works as ", "intend", "ed, I be", "lieve"} {
		l.write(event.ItemDelta{Stream: event.Text, Text: text})
	}
	s.notice("something else has happened")
	if got, want := written(), "It works as intended, I\nbelieve\nsomething else has\nhappened\n"; got != want {
		t.Errorf("written: %q", got)
	}
	s.prompt("y: allow once", "n: deny it for now")
	if got, want := written(), "y: allow once\nn: deny it for now\n> "; got != want {
		t.Errorf("asked: %q", got)
	}
}
