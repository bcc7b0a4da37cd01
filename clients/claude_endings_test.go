//go:build clients && linux

package clients

import (
	"bufio"
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// claudeStubborn is a call that ignores requests to end. It reports that it runs once its output is
// in the log: a busy machine may be slow there.
func claudeStubborn() modeltest.Item {
	return modeltest.Call(
		"shell",
		`{"command":"trap '' TERM INT HUP; echo beg''un; until grep -qs begun $HOME/data/sessions/*.log; do sleep 0.02; done; touch running; sleep 1000"}`,
	)
}

// A denial may end the turn as well.
func TestClaudeDenyAndInterrupt(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(claudeWrite("a"))))
	s := agentSDK(t, srv, "denyAndInterrupt", `{}`).talk(t)
	r := s.results(t, "error_during_execution")[0]
	if len(r.Denials) != 1 || !strings.Contains(strings.Join(r.Errors, " "), "interrupted") ||
		claudeExists(filepath.Join(s.dir, "a")) {
		t.Errorf("result %+v", r)
	}
	if thrown := s.of("thrown"); len(thrown) != 1 || !strings.Contains(string(thrown[0].Message), "interrupted") {
		t.Errorf("thrown %+v", thrown)
	}
}

// A question dies with its turn (C16).
func TestClaudeInterruptWhileAsking(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(claudeWrite("a"))))
	s := agentSDK(t, srv, "unanswered", `{}`).talk(t)
	s.results(t, "error_during_execution")
	if len(s.of("asked")) != 1 || len(s.of("withdrawn")) != 1 || len(s.of("answer")) != 1 ||
		claudeExists(filepath.Join(s.dir, "a")) {
		t.Errorf("got %+v", s.all)
	}
}

// An interrupt ends a call that ignores TERM, is answered after the result, and
// the session goes on.
func TestClaudeInterrupt(t *testing.T) {
	for _, c := range []struct {
		what      string
		results   []string
		last      string
		answers   int
		queued    string
		cancelled string
	}{
		{"interrupt", []string{"error_during_execution", "success"}, "Next.", 1, "", ""},
		{"interruptAndMore", []string{"error_during_execution", "success", "success"}, "Last.", 1, "22222222-2222-4222-8222-222222222222", ""},
		{"interruptAndCancel", []string{"error_during_execution"}, "", 1, "", "22222222-2222-4222-8222-222222222222"},
		{"twice", []string{"error_during_execution", "success"}, "Next.", 3, "", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			srv := modeltest.NewServer(t, modeltest.Script(
				modeltest.Reply(
					modeltest.Text("I begin."),
					claudeStubborn(),
				),
				modeltest.Say("Next."),
				modeltest.Say("Last."),
			))
			run := agentSDK(t, srv, c.what, claudeBypass)
			s := run.talk(t)
			all := s.results(t, c.results...)
			if got := strings.Join(all[0].Errors, " "); !strings.Contains(got, "interrupted") ||
				all[0].Terminal != "aborted_tools" {
				t.Errorf("the interrupted turn ended with %q, %q", got, all[0].Terminal)
			}
			if last := all[len(all)-1]; last.Result != c.last {
				t.Errorf("the last result is %q, want %q", last.Result, c.last)
			}
			answers := s.of("answer")
			if len(answers) != c.answers {
				t.Fatalf("%d answers, want %d", len(answers), c.answers)
			}
			if got := strings.Join(answers[0].Response.Queued, " "); got != c.queued {
				t.Errorf("still queued %q, want %q", got, c.queued)
			}
			if got := strings.Join(answers[0].Response.Cancelled, " "); got != c.cancelled {
				t.Errorf("cancelled %q, want %q", got, c.cancelled)
			}
			if answers[0].Millis > 20_000 { // bounded (C9), also where the machine is busy
				t.Errorf("the answer took %d ms", answers[0].Millis)
			}
			calls := s.parts(t, "user", "tool_result")
			if len(calls) != 1 || !calls[0].IsError || !strings.Contains(calls[0].Content, "begun") ||
				!strings.Contains(calls[0].Content, "interrupted") {
				t.Errorf("the call came to %+v", calls)
			}
			if left := marked(t, "HOME="+claudeHome(run)); len(left) > 0 {
				t.Errorf("left running: %v", left)
			}
		})
	}
}

// claudeHome is the HOME of a client, which marks its processes.
func claudeHome(c client) string {
	for _, e := range c.env {
		if dir, ok := strings.CutPrefix(e, "HOME="); ok {
			return dir
		}
	}
	return ""
}

// An interrupt that comes before the first turn has begun is not lost (C10).
func TestClaudeInterruptEarly(t *testing.T) {
	srv := modeltest.NewServer(
		t, modeltest.Script(modeltest.Say("This takes its time.").With(modeltest.Silence(modeltest.AfterHeaders))),
	)
	s := agentSDK(t, srv, "early", `{}`).talk(t)
	if r := s.results(t, "error_during_execution")[0]; !strings.Contains(strings.Join(r.Errors, " "), "interrupted") {
		t.Errorf("result %+v", r)
	}
	if len(s.of("answer")) != 1 {
		t.Errorf("got %+v", s.all)
	}
}

// If nothing runs, an interrupt is answered at once, and does not cover later inputs.
func TestClaudeInterruptIdle(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Say("Hello.")))
	s := agentSDK(t, srv, "idle", `{}`).talk(t)
	s.results(t, "success")
	if len(s.of("answer")) != 2 {
		t.Errorf("got %+v", s.all)
	}
}

// An aborted client ends everything within the SDK's wait (2 s) and 1.5 s. It reads nothing any
// more then: the last messages are in the session.
func TestClaudeAbort(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(claudeStubborn()), modeltest.Say("I remember.")))
	run := agentSDK(t, srv, "abort", claudeBypass)
	s := run.talk(t)
	if thrown := s.of("thrown"); len(thrown) != 1 || !strings.Contains(string(thrown[0].Message), "aborted by user") {
		t.Errorf("thrown %+v", thrown)
	}
	if took := s.of("took"); len(took) != 1 || took[0].MS > 3500 {
		t.Errorf("took %+v", took)
	}
	if left := marked(t, "HOME="+claudeHome(run)); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	claudeGoesOn(t, run, s.of("system/init")[0].Session, "was shut down")
}

// A client that stops listening leaves nothing behind.
func TestClaudeLeft(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(claudeStubborn()), modeltest.Say("I remember.")))
	run := agentSDK(t, srv, "leave", claudeBypass)
	s := run.talk(t)
	if len(s.of("took")) != 1 || s.code != 0 {
		t.Errorf("code %d", s.code)
	}
	awaitNoProcess(t, "HOME="+claudeHome(run), goneTimeout)
	claudeGoesOn(t, run, s.of("system/init")[0].Session, "was shut down")
}

// claudeGoesOn resumes a session whose turn was ended, and checks the stored part of the turn.
func claudeGoesOn(t *testing.T, was client, session, cause string) {
	t.Helper()
	log := claudeCommand(t, was, "sessions", "show", session)
	if !strings.Contains(log.stdout, cause) {
		t.Errorf("the session does not say %q:\n%s%s", cause, log.stdout, log.stderr)
	}
	next := node(t, "claude.mjs", "query", `{"resume":"`+session+`"}`)
	next.env, next.dir = was.env, was.dir
	s := next.talk(t)
	if r := s.results(t, "success")[0]; r.Session != session || r.Result == "" {
		t.Errorf("resumed: %+v", r)
	}
}

// Faults of the model's server.
func TestClaudeFaults(t *testing.T) {
	for _, c := range []struct {
		name    string
		turns   []modeltest.Turn
		env     []string
		subtype string
		says    string
		retries int
	}{
		{"reset", []modeltest.Turn{modeltest.Say("It got through.").With(modeltest.Reset(modeltest.AfterDelta(1)).First(1))}, nil, "success", "It got through.", 1},
		{"stall", []modeltest.Turn{modeltest.Say("It got through.").With(modeltest.Silence(modeltest.AfterDelta(1)).First(1))}, []string{"SETTLE_STALL_TIMEOUT_MS=300"}, "success", "It got through.", 1},
		{"stalls", []modeltest.Turn{modeltest.Say("Never.").With(modeltest.Silence(modeltest.AfterDelta(1)).First(modeltest.Always))}, []string{"SETTLE_STALL_TIMEOUT_MS=100"}, "error_during_execution", "stalled", 2},
		{"exhaustion", []modeltest.Turn{modeltest.Say("Never.").With(modeltest.Status(529, modeltest.RetrySeconds(3600)).First(modeltest.Always))}, nil, "error_during_execution", "529", 0},
		{"refused", []modeltest.Turn{modeltest.Say("Never.").With(modeltest.Status(401).First(modeltest.Always))}, nil, "error_during_execution", "401", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := agentSDK(t, modeltest.NewServer(t, modeltest.Script(c.turns...)), "query", `{}`, c.env...).talk(t)
			r := s.results(t, c.subtype)[0]
			if text := r.Result + strings.Join(r.Errors, " "); !strings.Contains(text, c.says) {
				t.Errorf("ended with %q, want %q", text, c.says)
			}
			if got := len(s.of("system/api_retry")); got != c.retries {
				t.Errorf("told of %d retries, want %d", got, c.retries)
			}
			if thrown := len(s.of("thrown")); (c.subtype == "success") != (thrown == 0) {
				t.Errorf("thrown %d times", thrown)
			}
			if texts := s.parts(t, "assistant", "text"); len(texts) != 1 {
				t.Errorf("claudeSaid %+v", texts)
			}
		})
	}
}

// A client that is killed leaves nothing, and its session goes on.
func TestClaudeKilled(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(claudeStubborn()), modeltest.Say("I remember.")))
	c := agentSDK(t, srv, "hold", claudeBypass)
	cmd := c.command(t.Context(), t)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	session := ""
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s claudeSaid
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		if s.Type == "running" {
			break
		}
		session = cmp.Or(s.Session, session)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	awaitNoProcess(t, "HOME="+claudeHome(c), goneTimeout)
	aborted(t, c.env, "shutdown")
	claudeGoesOn(t, c, session, "was shut down")
}
