package run

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/transcript"
)

func forever() time.Duration { return time.Hour }

// log writes the events of a turn, one second apart, and shows their changes.
type log struct {
	t    *testing.T
	show func(transcript.Change)
	tr   *transcript.Transcript

	seq           uint64
	turn, attempt string
	item          int
}

func newLog(t *testing.T, show func(transcript.Change)) *log {
	t.Helper()
	return &log{t: t, show: show, tr: transcript.New(event.State{}, transcript.Live)}
}

// write writes events and shows them. It starts an attempt if there is none, and makes the item of
// a call ready before the call starts. An ended item has the content with which it started.
func (l *log) write(data ...event.Data) {
	l.t.Helper()
	for _, d := range data {
		e := event.Event{V: event.Version, Session: "s", At: time.Unix(int64(l.seq), 0)}
		switch d.(type) {
		case event.TurnStarted:
			l.turn = "t"
		case event.ItemStarted:
			l.item++
			if l.attempt == "" {
				l.write(event.AttemptStarted{Step: 1, N: 1})
			}
		case event.AttemptStarted:
			l.attempt = fmt.Sprint("a", l.item)
		case event.CallStarted:
			l.write(event.CallReady{Name: "shell"})
		}
		e.At, e.Turn = time.Unix(int64(l.seq), 0), l.turn
		switch d.(type) {
		case event.ItemStarted, event.ItemDelta, event.ItemEnded, event.CallReady, event.CallStarted,
			event.ApprovalRequested, event.ApprovalEnded:
			e.Attempt, e.Item = l.attempt, fmt.Sprint("i", l.item)
		case event.AttemptStarted, event.AttemptEnded:
			e.Attempt = l.attempt
		}
		l.seq++
		e.Seq, e.Data = l.seq, d
		if _, ends := d.(event.AttemptEnded); ends {
			l.attempt = ""
		}
		changes, err := l.tr.Take(e)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, c := range changes {
			l.show(c)
		}
	}
}

func scene() []event.Data {
	code, wait := 2, int64(4000)
	return []event.Data{
		event.SessionRecovered{PID: 3, Ended: 2, Swept: []int{8}, CutBytes: 10, Kept: "/data/torn"},
		event.SessionOpened{Dir: "/work", Permission: "allow"},
		event.TurnStarted{Provider: "chat", Model: "m"},
		event.ItemStarted{Type: event.Reasoning},
		event.ItemDelta{Stream: event.Text, Text: "hmm"},
		event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.Reasoning, Text: "hmm"}},
		event.AttemptEnded{
			Outcome: event.Failed, RetryIn: &wait,
			Failure: &event.Failure{Message: "529 overloaded", Attempt: 1, RetryLimit: 5},
		},
		event.ItemStarted{Type: event.Message},
		event.ItemDelta{Stream: event.Text, Text: "The ans"},
		event.ItemDelta{Stream: event.Text, Text: "wer\x1b[1m is"},
		event.ItemEnded{
			Status:  event.ItemCompleted,
			Content: event.Content{Type: event.Message, Text: "The answer\x1b[1m is"},
		},
		event.ItemStarted{Type: event.ToolCall, Name: "shell"},
		event.CallStarted{Title: "go test\x07 ./..."},
		event.ItemDelta{Stream: event.Output, Text: "FAIL"},
		event.ItemEnded{
			Status:  event.ItemFailed,
			Content: event.Content{Type: event.ToolCall, Name: "shell", ExitCode: &code},
		},
		event.ItemStarted{Type: event.ToolCall, Name: "read"},
		event.ItemEnded{
			Status: event.ItemAborted, Effects: event.EffectsNone, Cause: event.Abort(event.Interrupted, "user"),
			Content: event.Content{
				Type: event.ToolCall, Name: "read",
				Survivors: []event.Process{{PID: 7, Command: "x", Why: "not permitted"}},
			},
		},
		event.JobStarted{Job: "j1", PID: 9, Command: "server"},
	}
}

func TestTextViewShowsTurn(t *testing.T) {
	recovery := "the process that last used this session was killed; 2 items were still open and have been ended; processes [8] were still running and have been ended; " +
		"the damaged end of its log (10 bytes) was saved to /data/torn\n"
	notices := `attempt 2 of 6 in 4 s: 529 overloaded
→ go test␇ ./...
  go test␇ ./...: exit code 2 after 2 s
  read: not started
server keeps running as job j1 (pid 9)
`
	verbose := "session s in /work; permission: allow\nmodel chat/m\n"
	for _, tt := range []struct {
		name           string
		format         Format
		volume         Volume
		stdout, stderr string
	}{
		{"plain", Plain, Normal, "42\n", "settle: attempt 2 of 6 in 4 s: 529 overloaded\n"},
		{"plain, quiet", Plain, Quiet, "42\n", ""},
		{"plain, verbose", Plain, Verbose, "42\n", recovery + verbose + notices},
		{
			"terminal", Terminal, Normal, "The answer␛[1m is\n",
			recovery + "chat/m in /work; allows every call (use --permission ask to be asked)\n" + notices,
		},
		{"terminal, quiet", Terminal, Quiet, "The answer␛[1m is\n", ""},
		{"terminal, verbose", Terminal, Verbose, "The answer␛[1m is\n", recovery + verbose + "hmm\n" + notices},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			fatal := func(err error) { t.Error(err) }
			out, err := stdio.NewOutput(&stdout, fatal), stdio.NewOutput(&stderr, fatal)
			s := newTextView(oneturn.Stage{Out: out, Err: err}, Options{Format: tt.format, Volume: tt.volume})
			newLog(t, s.show).write(scene()...)
			s.Finish("42")
			if err := out.Close(forever); err != nil {
				t.Fatal(err)
			}
			if err := err.Close(forever); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.stdout, stdout.String()); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.stderr, stderr.String()); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
}

// A script sees why it waits, and the reports leave room for the cause of a failure (C14).
func TestWaitsAreReportedBriefly(t *testing.T) {
	var stderr bytes.Buffer
	fatal := func(err error) { t.Error(err) }
	out, err := stdio.NewOutput(&bytes.Buffer{}, fatal), stdio.NewOutput(&stderr, fatal)
	s := newTextView(oneturn.Stage{Out: out, Err: err}, Options{Format: Plain})
	l := newLog(t, s.show)
	l.write(event.SessionOpened{Dir: "/work"}, event.TurnStarted{Provider: "chat", Model: "m"})
	for n := range 40 {
		wait := int64(500 + 100*n)
		failure := &event.Failure{Message: "529 overloaded", Attempt: n + 1}
		failed := event.AttemptEnded{Outcome: event.Failed, RetryIn: &wait, Failure: failure}
		l.item++ // of which the id of the attempt is made
		l.write(event.AttemptStarted{Step: 1, N: n + 1}, failed)
	}
	if err := errors.Join(out.Close(forever), err.Close(forever)); err != nil {
		t.Fatal(err)
	}
	got := stderr.String()
	if !strings.HasPrefix(got, "settle: attempt 17 in 2 s: 529 overloaded\n") {
		t.Errorf("short waits are reported, or the first long one is not:\n%s", got)
	}
	if len(got) > 800 || !strings.HasSuffix(got, "further waits are not reported; -v reports all\n") {
		t.Errorf("%d bytes:\n%s", len(got), got)
	}
}

// A script sees that a reviewer takes long, and nothing of a short review.
func TestLongReviewIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stderr bytes.Buffer
		fatal := func(err error) { t.Error(err) }
		out, err := stdio.NewOutput(&bytes.Buffer{}, fatal), stdio.NewOutput(&stderr, fatal)
		s := newTextView(oneturn.Stage{Out: out, Err: err}, Options{Format: Plain})
		l := newLog(t, s.show)
		l.write(event.SessionOpened{Dir: "/work"}, event.TurnStarted{Provider: "chat", Model: "m"})
		for n, takes := range []time.Duration{time.Second, 5 * time.Second, time.Second} {
			hook := fmt.Sprint("h", n)
			l.write(event.HookStarted{Hook: hook, Event: event.HookReview, Command: fmt.Sprint("rev/", n)})
			time.Sleep(takes)
			l.write(event.HookEnded{Hook: hook, Outcome: event.Completed, Decision: event.Allow})
		}
		time.Sleep(time.Minute)
		s.Finish("")
		if err := errors.Join(out.Close(forever), err.Close(forever)); err != nil {
			t.Fatal(err)
		}
		if got := stderr.String(); got != "settle: being reviewed by rev/1\n" {
			t.Errorf("it says %q", got)
		}
	})
}

// A script sees that the fallback model answers.
func TestFallbackIsReported(t *testing.T) {
	var stderr bytes.Buffer
	fatal := func(err error) { t.Error(err) }
	out, err := stdio.NewOutput(&bytes.Buffer{}, fatal), stdio.NewOutput(&stderr, fatal)
	l := newLog(t, newTextView(oneturn.Stage{Out: out, Err: err}, Options{Format: Plain}).show)
	l.write(event.SessionOpened{Dir: "/work"}, event.TurnStarted{Provider: "chat", Model: "a"}, event.HistoryChanged{
		Change: event.ChangeModel, Provider: "chat", Model: "b",
		Why: "chat/a failed: 529 overloaded; the rest of the turn uses chat/b",
	})
	if err := errors.Join(out.Close(forever), err.Close(forever)); err != nil {
		t.Fatal(err)
	}
	if got := stderr.String(); got != "settle: chat/b continues: chat/a failed: 529 overloaded\n" {
		t.Errorf("it says %q", got)
	}
}

// A lost connection is shown at once where a person looks on; for programs, whose first line is the
// cause, after it; and never in quiet mode (C14).
func TestNotices(t *testing.T) {
	scene := []event.Data{
		event.SessionOpened{Dir: "/work", Permission: "allow"},
		event.TurnStarted{Provider: "chat", Model: "m"},
		event.ItemStarted{Type: event.ToolCall, Name: "shell"},
		event.CallStarted{Title: "go test"},
		event.ItemDelta{Stream: event.Output, Text: "\n[it was lost]\n", Notice: true},
	}
	for _, tt := range []struct {
		name   string
		o      Options
		during string
		after  string
	}{
		{"terminal", Options{Format: Terminal}, "it was lost\n", ""},
		{"terminal, quiet", Options{Format: Terminal, Volume: Quiet}, "", ""},
		{
			"plain, and a terminal at standard error",
			Options{Format: Plain, StatusTerminal: &StatusTerminal{}},
			"settle: it was lost\n", "",
		},
		{"plain, and a terminal, quiet", Options{Format: Plain, StatusTerminal: &StatusTerminal{}, Volume: Quiet}, "", ""},
		{"plain", Options{Format: Plain}, "", "settle: note: it was lost\n"},
		{"plain, quiet", Options{Format: Plain, Volume: Quiet}, "", ""},
		{"json", Options{Format: JSON}, "", "settle: note: it was lost\n"},
		{"json, verbose", Options{Format: JSON, Volume: Verbose}, "", ""}, // a screen beside it shows it
		{"json, quiet", Options{Format: JSON, Volume: Quiet}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			fatal := func(err error) { t.Error(err) }
			out, err := stdio.NewOutput(&stdout, fatal), stdio.NewOutput(&stderr, fatal)
			stage := oneturn.Stage{Out: out, Err: err, Write: func(add func([]byte) []byte) { out.Write(add) }}
			var view oneturn.View
			show := func(c transcript.Change) { view.(*lines).show(c.Event) }
			if tt.o.Format == JSON {
				view = newLines(stage, tt.o)
			} else {
				s := newTextView(stage, tt.o)
				s.tty, view, show = nil, s, s.show
			}
			newLog(t, show).write(scene...)
			err.Flush()
			if got := stderr.String(); !strings.HasSuffix(got, tt.during) ||
				tt.during == "" && strings.Contains(got, "lost") {
				t.Errorf("it said %q", got)
			}
			stderr.Reset()
			view.Last()
			if err := errors.Join(out.Close(forever), err.Close(forever)); err != nil {
				t.Fatal(err)
			}
			if got := stderr.String(); got != tt.after {
				t.Errorf("at the end it said %q", got)
			}
			if has := strings.Contains(stdout.String(), `"notice":true`); has != (tt.o.Format == JSON) {
				t.Errorf("standard output has %q", stdout.String())
			}
		})
	}
}

// A script whose session lost the end of its log is told so, unless it wants errors only.
func TestCutLogIsReported(t *testing.T) {
	for _, tt := range []struct {
		options Options
		kept    string
		want    string
	}{
		{Options{Format: Plain}, "/data/s.torn-2", "settle: note: the session's log was damaged; the damaged end of its " +
			"log (1200 bytes) was saved to /data/s.torn-2\n"},
		{Options{Format: Plain}, "", ""},
		{Options{Format: Plain, Volume: Quiet}, "/data/s.torn-2", ""},
	} {
		var stdout, stderr bytes.Buffer
		failed := func(err error) { t.Error(err) }
		stage := oneturn.Stage{Out: stdio.NewOutput(&stdout, failed), Err: stdio.NewOutput(&stderr, failed)}
		view := newTextView(stage, tt.options)
		l := newLog(t, view.show)
		l.write(event.SessionRecovered{CutBytes: 1200, Kept: tt.kept}, event.SessionOpened{Dir: "/w"})
		view.Last()
		if err := errors.Join(stage.Out.Close(forever), stage.Err.Close(forever)); err != nil {
			t.Fatal(err)
		}
		if got := stderr.String(); got != tt.want {
			t.Errorf("kept in %q: %q, want %q", tt.kept, got, tt.want)
		}
	}
}

// A denied call has one row, with the whole reason.
func TestTextViewShowsDenialOnce(t *testing.T) {
	output := `"write" was not allowed to run: only tools that change nothing may run. Continue without it, or state ` +
		"what you would have done instead of the call."
	for _, c := range []struct {
		ended event.ApprovalEnded
		want  string
	}{
		{event.ApprovalEnded{Verdict: event.Denied, Policy: "default", Message: output}, "denied: " + output},
		{event.ApprovalEnded{Verdict: event.Denied, Policy: "hook check", Message: output}, "denied: " + output},
		{event.ApprovalEnded{Verdict: event.Denied, Message: "no"}, "denied: Message to the model: no"},
		{event.ApprovalEnded{Verdict: event.Denied, Explain: true}, "denied: The model explains the effects first."},
		{event.ApprovalEnded{Verdict: event.Denied}, "denied"},
	} {
		var stderr bytes.Buffer
		fatal := func(err error) { t.Error(err) }
		out, err := stdio.NewOutput(&bytes.Buffer{}, fatal), stdio.NewOutput(&stderr, fatal)
		s := newTextView(oneturn.Stage{Out: out, Err: err}, Options{Format: Terminal})
		l := newLog(t, s.show)
		c.ended.Approval = "p"
		l.write(
			event.SessionOpened{Dir: "/work", Permission: "ask"}, event.TurnStarted{Provider: "chat", Model: "m"},
			event.ItemStarted{Type: event.ToolCall, Name: "write"}, event.CallReady{Name: "write"},
			event.ApprovalRequested{Approval: "p", Tool: "write"}, c.ended,
			event.ItemEnded{
				Status:  event.ItemFailed,
				Content: event.Content{Type: event.ToolCall, Name: "write", Output: output},
			},
		)
		if err := err.Close(forever); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(forever); err != nil {
			t.Fatal(err)
		}
		if got, want := stderr.String(), "chat/m in /work; asks before changes\n  write: "+c.want+"\n"; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
