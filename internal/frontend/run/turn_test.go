package run_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/frontend/run"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// turn runs a script in memory and returns its output.
func turn(t *testing.T, m *script.Model, o run.Options, tools ...tool.Tool) (code int, stdout, stderr string) {
	t.Helper()
	host, err := settle.Open(t.Context(), settle.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	o.Config = settle.SessionConfig{
		Model: model.Config{Provider: m, Name: "m"}, WorkDir: t.TempDir(), Permission: settle.Allow,
		Tools: tools,
	}
	o.Host, o.Prompt, o.Stdout, o.Stderr = host, "hi", &out, &errs
	code = run.Turn(context.Background(), o)
	return code, out.String(), errs.String()
}

func newTool(t *testing.T, name string, f func(context.Context) (string, error)) tool.Tool {
	t.Helper()
	made, err := tool.New(name, "A tool.", func(ctx context.Context, _ struct{}) (string, error) { return f(ctx) })
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// A panic of a tool is that call's failure; one of a provider is the turn's.
// The record is whole either way.
func TestPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := newTool(t, "bad", func(context.Context) (string, error) { panic("oh") })
		code, stdout, stderr := turn(
			t, script.New(script.Call("bad", "{}"), script.Text("I see")), run.Options{Format: run.JSON}, bad,
		)
		if code != stdio.CodeCompleted || stderr != "" ||
			!strings.Contains(lastLine(stdout), `"kind":"turn.completed"`) {
			t.Errorf("tool: code %d, stderr %q, last line %s", code, stderr, lastLine(stdout))
		}
		code, stdout, stderr = turn(t, script.New(script.Panic("ah")), run.Options{Format: run.JSON})
		if code != stdio.CodeFailed || !strings.HasPrefix(stderr, "settle: failed: ") || !strings.Contains(
			lastLine(stdout), `"kind":"turn.failed"`,
		) {
			t.Errorf("provider: code %d, stderr %q, last line %s", code, stderr, lastLine(stdout))
		}
	})
}

// A stop that comes before the turn keeps it from beginning.
func TestStopComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stops := make(chan stdio.Stop, 1)
		stops <- stdio.Stop{Reason: event.Interrupted, By: "signal:SIGINT", Code: 130}
		m := script.New(script.Turn(script.Text("…"), script.Stall()))
		code, _, stderr := turn(t, m, run.Options{Options: oneturn.Options{Stops: stops}})
		if code != 130 || !strings.HasPrefix(stderr, "settle: ") {
			t.Errorf("code %d, stderr %q", code, stderr)
		}
	})
}

// After three stops, the run does not wait for a tool that cannot be ended.
func TestThirdStopGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stops := make(chan stdio.Stop, 3)
		release := make(chan struct{})
		defer close(release)
		deaf := newTool(t, "deaf", func(context.Context) (string, error) {
			for range 3 {
				stops <- stdio.Stop{Reason: event.Interrupted, By: "signal:SIGINT", Code: 130}
			}
			<-release
			return "", nil
		})
		code, _, stderr := turn(
			t, script.New(script.Call("deaf", "{}")), run.Options{Options: oneturn.Options{Stops: stops}}, deaf,
		)
		if code != 130 || !strings.HasPrefix(stderr, "settle: ") {
			t.Errorf("code %d, stderr %q", code, stderr)
		}
	})
}

// After three signals at once, subscribers still receive the end of the turn: process supervisors
// do send several signals.
func TestThirdStopHearsTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stops := make(chan stdio.Stop, 3)
		slow := newTool(t, "slow", func(ctx context.Context) (string, error) {
			for range 3 {
				stops <- stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM", Code: 143}
			}
			<-ctx.Done()
			time.Sleep(50 * time.Millisecond) // it takes that to be killed
			return "", nil
		})
		code, stdout, stderr := turn(
			t, script.New(script.Call("slow", "{}")),
			run.Options{Format: run.JSON, Options: oneturn.Options{Stops: stops}}, slow,
		)
		if code != 143 || !strings.HasPrefix(stderr, "settle: ended by SIGTERM") || !strings.Contains(
			lastLine(stdout), `"kind":"turn.aborted"`,
		) {
			t.Errorf("code %d, stderr %q, last line %s", code, stderr, lastLine(stdout))
		}
	})
}

func TestAnswerIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := ""
		code, stdout, _ := turn(t, script.New(
			script.Text("for", "ty-two"),
		), run.Options{Options: oneturn.Options{Answer: func(text string) error {
			kept = text
			return nil
		}}})
		if code != 0 || kept != "forty-two" || stdout != "forty-two\n" {
			t.Errorf("code %d, kept %q, stdout %q", code, kept, stdout)
		}
		code, _, stderr := turn(
			t, script.New(script.Text("lost")),
			run.Options{Options: oneturn.Options{Answer: func(string) error { return errors.New("disk full") }}},
		)
		if code != stdio.CodeFailed || stderr != "settle: disk full\n" {
			t.Errorf("code %d, stderr %q", code, stderr)
		}
	})
}

// Something other than a reader is in the way out, such as a disk that hangs:
// the process ends all the same, with the turn's code.
func TestExitIsNotBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forced := make(chan int)
		var got int
		code, _, _ := turn(t, script.New(script.Text("done")), run.Options{Options: oneturn.Options{
			Answer: func(string) error {
				got = <-forced
				return nil
			},
			Exit: func(code int) { forced <- code },
		}})
		if code != 0 || got != 0 {
			t.Errorf("code %d, forced with %d", code, got)
		}
	})
}

// A lost client causes several stops: by its pipe, by the pipe again and by its death. They do not
// shorten the grace.
func TestLostClientIsNotImpatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stops := make(chan stdio.Stop, 3)
		slow := newTool(t, "slow", func(ctx context.Context) (string, error) {
			for _, by := range []string{"stdout", "parent", "stdout"} {
				stops <- stdio.Stop{Reason: event.Shutdown, By: by, Code: stdio.CodeStdoutClosed}
			}
			<-ctx.Done()
			time.Sleep(100 * time.Millisecond) // within the grace
			return "what it had", nil
		})
		code, stdout, _ := turn(
			t, script.New(script.Call("slow", "{}")),
			run.Options{Format: run.JSON, Options: oneturn.Options{Stops: stops}}, slow,
		)
		if code != stdio.CodeStdoutClosed || !strings.Contains(stdout, "what it had") || !strings.Contains(
			lastLine(stdout), `"kind":"turn.aborted"`,
		) {
			t.Errorf("code %d, stdout %s", code, stdout)
		}
	})
}

// A script that waits learns that the model is silent, once for each attempt, and when that ends.
func TestSilenceIsReported(t *testing.T) {
	for _, c := range []struct {
		name, want string
		step       script.Step
	}{
		{
			"after output", "settle: model silent for 30 s, cut after 3m\n",
			script.Turn(script.Text("Some"), script.Stall()),
		},
		{"before output", "settle: no answer for 30 s, cut after 10m\n", script.Stall()},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				code, stdout, stderr := turn(t, script.New(c.step, script.Text("All")), run.Options{})
				if code != 0 || stdout != "All\n" || strings.Count(stderr, c.want) != 1 {
					t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
				}
			})
		})
	}
}
