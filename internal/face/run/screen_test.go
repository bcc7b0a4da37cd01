package run

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
)

func forever() time.Duration { return time.Hour }

// at returns events a second apart, of one turn.
func at(data ...event.Data) []event.Event {
	var out []event.Event
	item := ""
	for i, d := range data {
		switch d.(type) {
		case event.ItemStarted:
			item = "i" + string(rune('0'+i))
		case event.AttemptEnded, event.TurnStarted, event.JobStarted:
			item = ""
		}
		out = append(out, event.Event{Session: "s", Seq: uint64(i + 1), At: time.Unix(int64(i), 0), Turn: "t", Item: item, Data: d})
	}
	return out
}

func scene() []event.Event {
	code, wait := 2, int64(4000)
	return at(
		event.SessionRecovered{PID: 3, Ended: 2, Swept: []int{8}, CutBytes: 10, Kept: "/data/torn"},
		event.SessionOpened{Dir: "/work", Permission: "allow"},
		event.TurnStarted{Provider: "chat", Model: "m"},
		event.ItemStarted{Type: event.Reasoning},
		event.ItemDelta{Stream: event.Text, Text: "hmm"},
		event.ItemEnded{Content: event.Content{Type: event.Reasoning}},
		event.AttemptEnded{RetryIn: &wait, Failure: &event.Failure{Message: "529 overloaded", Attempt: 1, RetryLimit: 5}},
		event.ItemStarted{Type: event.Message},
		event.ItemDelta{Stream: event.Text, Text: "The ans"},
		event.ItemDelta{Stream: event.Text, Text: "wer\x1b[1m is"},
		event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: event.Message}},
		event.ItemStarted{Type: event.ToolCall, Name: "shell"},
		event.CallStarted{Title: "go test\x07 ./..."},
		event.ItemDelta{Stream: event.Output, Text: "FAIL"},
		event.ItemEnded{Status: event.ItemFailed, Content: event.Content{Type: event.ToolCall, ExitCode: &code}},
		event.ItemStarted{Type: event.ToolCall, Name: "read"},
		event.ItemEnded{
			Status: event.ItemAborted, Effects: event.EffectsNone, Cause: event.Abort(event.Interrupted, "user"),
			Content: event.Content{Type: event.ToolCall, Survivors: []event.Process{{PID: 7, Command: "x", Why: "not permitted"}}},
		},
		event.JobStarted{Job: "j1", PID: 9, Command: "server"},
	)
}

func TestScreen(t *testing.T) {
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
		{"plain", Plain, Normal, "42\n", ""},
		{"plain, quiet", Plain, Quiet, "42\n", ""},
		{"plain, verbose", Plain, Verbose, "42\n", recovery + verbose + notices},
		{"terminal", Terminal, Normal, "The answer␛[1m is\n", recovery + "chat/m in /work; commands run and files change without asking (use --permission ask to be asked)\n" + notices},
		{"terminal, quiet", Terminal, Quiet, "The answer␛[1m is\n", ""},
		{"terminal, verbose", Terminal, Verbose, "The answer␛[1m is\n", recovery + verbose + "hmm\n" + notices},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			fatal := func(err error) { t.Error(err) }
			out, err := stdio.NewOutput(&stdout, fatal), stdio.NewOutput(&stderr, fatal)
			s := newScreen(out, err, Options{Format: tt.format, Volume: tt.volume})
			for _, e := range scene() {
				s.show(e)
			}
			s.finish("42")
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
