package sessions

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/terminal"
)

// On a terminal each session takes one row, with its directory if there are several, and with
// the title if nothing else fits.
func TestNarrowListFits(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	entry := func(id, dir string) branch {
		return branch{Entry: catalogue.Entry{
			Session: id, Dir: dir, Title: strings.Repeat("a title that is long ", 5), Updated: at,
			Model: "chat/a-model-with-a-long-name", Outcome: event.Completed,
		}}
	}
	one, begin := entry("one", "/a/x"), "one  2026-03-04 05:06  completed  "
	for _, test := range []struct {
		list  []branch
		width int
		want  string
	}{
		{[]branch{one}, 80, begin + "chat/a-model-wi…  a title that"},
		{[]branch{one, entry("two", "/a/y")}, 80, begin + "chat/a-model-wi…  x  a title"},
		{[]branch{one, entry("two", "/a/project")}, 70, begin + "x        a title"},
	} {
		var out bytes.Buffer
		if err := narrow(&out, t.TempDir(), test.list, test.width); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), test.want) || strings.Count(out.String(), "\n") != len(test.list) {
			t.Errorf("got %q, want %q", out.String(), test.want)
		}
		for line := range strings.Lines(out.String()) {
			if got := terminal.TextWidth(strings.TrimSuffix(line, "\n")); got > test.width {
				t.Errorf("%d columns: %q", got, line)
			}
		}
	}
}
