//go:build clients && linux

package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/modeltest"
)

// stubborn is a command that ignores TERM.
const stubborn = "trap '' TERM; echo begun; sleep 1000; sleep 1000"

// A client that aborts gets the items and how the turn ended, soon, and nothing
// of the turn is left.
func TestExecAbort(t *testing.T) {
	silent := modeltest.Reply(shellCall("echo begun"), modeltest.Text("this is never finished")).
		With(modeltest.Silence(modeltest.AfterDelta(3)))
	tool := modeltest.Reply(modeltest.Text("I wait."), shellCall(stubborn))
	for name, tt := range map[string]struct {
		turn  modeltest.Turn
		abort map[string]any
		want  []string
	}{
		"in a tool that ignores TERM": {tool, map[string]any{"event": "item.updated"}, []string{"item.completed agent_message", "item.started command_execution", "item.completed command_execution"}},
		"while the model is silent":   {silent, map[string]any{"event": "item.completed", "item": "command_execution"}, []string{"item.started command_execution"}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.NewServer(t, modeltest.Script(tt.turn, modeltest.Say("I go on.")))
			mark := "EXEC_MARK=" + filepath.Base(t.TempDir()) + filepath.Base(t.TempDir()) + t.Name()
			env := home(t, mark)
			said := execRun(
				t, srv, execPlan{Turns: []execTurn{{Input: "go", Stream: true, Abort: tt.abort}, {Input: "go on"}}},
				env,
			)
			execClosed(t, said)
			got := execEvents(said)
			for _, want := range tt.want {
				if !strings.Contains(strings.Join(got, "\n")+"\n", want+"\n") {
					t.Errorf("no %s in %q", want, got)
				}
			}
			failed, after := said[len(said)-5], said[len(said)-4]
			if failed.Event == nil || failed.Event.Type != "turn.failed" ||
				failed.Event.Error.Message != "interrupted" {
				t.Errorf("the turn ended with %+v; events %q", failed.Event, got)
			}
			if after.Error == nil || after.Error.Name != "AbortError" {
				t.Errorf("the SDK's error is %+v", after.Error)
			}
			if took := said[len(said)-3].Millis; took > 1500 {
				t.Errorf("it took %d ms", took)
			}
			if next := said[len(said)-2].Result; next == nil || next.FinalResponse != "I go on." {
				t.Errorf("the next turn: %+v", said[len(said)-2])
			}
			awaitNoProcess(t, mark, goneTimeout)
			execKept(t, srv)
		})
	}
}

// A client that does not stream receives an error.
func TestExecAbortRun(t *testing.T) {
	srv := modeltest.NewServer(
		t,
		modeltest.Script(
			modeltest.Reply(shellCall(stubborn)),
			modeltest.Say("I go on."),
			modeltest.Fail(modeltest.Status(401)),
			modeltest.Say("And on."),
		),
	)
	mark := "EXEC_MARK=" + filepath.Base(t.TempDir()) + t.Name()
	said := execRun(t, srv, execPlan{Turns: []execTurn{
		{Input: "go", Abort: map[string]any{"after": 1500}},
		{Input: "at once"},
		{Input: "this fails"},
		{Input: "at once"},
		{Input: "not even begun", Stream: true, Abort: map[string]any{"event": "before"}},
	}}, home(t, mark))
	if e := said[0].Error; e == nil || e.Message != "interrupted" {
		t.Errorf("the first turn: %+v", said[0])
	}
	// The SDK does not wait for the process where a turn failed.
	for n, want := range map[int]string{2: "I go on.", 6: "And on."} {
		if r := said[n].Result; r == nil || r.FinalResponse != want {
			t.Errorf("the turn after one that failed: %+v", said[n].Error)
		}
	}
	if e := said[len(said)-2].Error; e == nil || e.Name != "AbortError" {
		t.Errorf("the second turn: %+v", said[len(said)-2])
	}
	awaitNoProcess(t, mark, goneTimeout)
	if n := len(srv.Exchanges()); n != 4 {
		t.Errorf("%d requests", n)
	}
}

// Faults of the provider: if a retry succeeds, the fault is printed once; else the turn fails with
// the cause.
func TestExecFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		turns  []modeltest.Turn
		config map[string]any
		answer string // of a turn that completes
		fails  string // part of the message of a turn that fails
	}{
		"reset":            {turns: []modeltest.Turn{modeltest.Say("one two three").With(modeltest.Reset(modeltest.AfterDelta(2)).First(1))}, answer: "one two three"},
		"stall":            {turns: []modeltest.Turn{modeltest.Say("one two three").With(modeltest.Silence(modeltest.AfterDelta(2)).First(1))}, config: map[string]any{"stall_timeout": "400ms"}, answer: "one two three"},
		"overload":         {turns: []modeltest.Turn{modeltest.Say("one two three").With(modeltest.Status(529, modeltest.RetryMillis(100)).First(2))}, answer: "one two three"},
		"exhaustion":       {turns: []modeltest.Turn{modeltest.Fail(modeltest.Status(500).First(modeltest.Always))}, config: map[string]any{"retries": 1}, fails: "500"},
		"exhausted stalls": {turns: []modeltest.Turn{modeltest.Say("one two").With(modeltest.Silence(modeltest.AfterDelta(1)).First(modeltest.Always))}, config: map[string]any{"retries": 1, "stall_timeout": "400ms"}, fails: "stalled"},
		"a refused key":    {turns: []modeltest.Turn{modeltest.Fail(modeltest.Status(401))}, fails: "401"},
		"a limit":          {turns: []modeltest.Turn{modeltest.Reply(shellCall("echo a")), modeltest.Say("more")}, config: map[string]any{"max_steps": 1}, fails: "the limit on steps was reached"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.NewServer(t, modeltest.Script(tt.turns...))
			plan := execPlan{Turns: []execTurn{{Input: "go", Stream: true}}}
			if tt.config != nil {
				plan.Codex = map[string]any{"config": map[string]any{"settle": tt.config}}
			}
			said := execRun(t, srv, plan, home(t))
			execClosed(t, said)
			got, messages, failed := execEvents(said), "", ""
			for _, s := range said {
				if s.Event != nil && s.Event.Type == "item.completed" && s.Event.Item.Type == "agent_message" {
					messages += s.Event.Item.Text
				}
				if s.Event != nil && s.Event.Type == "turn.failed" {
					failed = s.Event.Error.Message
				}
			}
			switch {
			case tt.fails == "":
				if messages != tt.answer || failed != "" ||
					!strings.Contains(strings.Join(got, " "), "item.completed error") {
					t.Errorf("said %q, failed %q, events %q", messages, failed, got)
				}
			case !strings.Contains(failed, tt.fails):
				t.Errorf("failed with %q; events %q", failed, got)
			case !strings.Contains(got[len(got)-1], "Codex Exec exited with code"):
				t.Errorf("the SDK took it for a success: %q", got)
			}
			execKept(t, srv)
		})
	}
}

// watched is a client whose standard output is read as it comes.
type watched struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	ended chan struct{} // closed when it has been waited for
	seen  []string
}

func watch(t *testing.T, cmd *exec.Cmd) *watched {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := &watched{t: t, cmd: cmd, lines: bufio.NewScanner(out), ended: make(chan struct{})}
	w.lines.Buffer(nil, 1<<20)
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return w
}

// until reads up to a line with the text, and returns it.
func (w *watched) until(text string) string {
	w.t.Helper()
	for w.lines.Scan() {
		w.seen = append(w.seen, w.lines.Text())
		if strings.Contains(w.lines.Text(), text) {
			return w.lines.Text()
		}
	}
	w.t.Fatalf("no line with %q in:\n%s", text, strings.Join(w.seen, "\n"))
	return ""
}

// A client that is killed leaves nothing behind, and its session can go on.
func TestExecClientIsKilled(t *testing.T) {
	for name, turn := range map[string]modeltest.Turn{
		"in a tool that ignores TERM": modeltest.Reply(modeltest.Text("I wait."), shellCall(stubborn)),
		"while the model is silent":   modeltest.Reply(shellCall("echo begun"), modeltest.Text("and then")).With(modeltest.Silence(modeltest.AfterDelta(3))),
	} {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.NewServer(t, modeltest.Script(turn, modeltest.Say("I go on.")))
			mark := "EXEC_MARK=" + filepath.Base(t.TempDir()) + t.Name()
			env := home(t, mark)
			ctx, cancel := context.WithTimeout(t.Context(), clientTimeout)
			defer cancel()
			c := execClient(t, srv, execPlan{Turns: []execTurn{{Input: "go", Stream: true}}}, env)
			w := watch(t, c.command(ctx, t))
			var first execSaid
			if err := json.Unmarshal([]byte(w.until(`"thread.started"`)), &first); err != nil {
				t.Fatal(err)
			}
			w.until("begun")
			if err := w.cmd.Process.Kill(); err != nil { // the client alone
				t.Fatal(err)
			}
			_ = w.cmd.Wait() // it was killed
			awaitNoProcess(t, mark, goneTimeout)
			aborted(t, env, "shutdown")
			plan := execPlan{Resume: first.Event.ThreadID, Turns: []execTurn{{Input: "go on"}}}
			if said := execRun(t, srv, plan, env); said[0].Result == nil || said[0].Result.FinalResponse != "I go on." {
				t.Errorf("resumed: %+v", said)
			}
			execKept(t, srv)
		})
	}
}

// execBinary runs settle without the SDK, for operations that the SDK does not support.
func execBinary(t *testing.T, srv *modeltest.Server, env []string, args ...string) client {
	t.Helper()
	args = append([]string{settle(t), "exec"}, args...)
	if srv != nil {
		args = append(args, "-c", `openai_base_url="`+srv.OpenAI()+`"`)
	}
	return client{
		argv:  args,
		dir:   t.TempDir(),
		env:   append(env, "CODEX_API_KEY=sk-of-the-client-1234567890"),
		stdin: "go",
	}
}

// A reader of standard output that goes away ends the turn, and so does the
// death of the parent where standard output is still open.
func TestExecNobodyIsLeft(t *testing.T) {
	start := func(t *testing.T) (*modeltest.Server, string, client) {
		srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(shellCall(stubborn))))
		mark := "EXEC_MARK=" + filepath.Base(t.TempDir()) + t.Name()
		return srv, mark, execBinary(t, srv, home(t, mark), "--json", "--yolo", "-m", "gpt-5")
	}
	t.Run("standard output", func(t *testing.T) {
		_, mark, c := start(t)
		cmd := c.command(t.Context(), t)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout = w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		lines := bufio.NewScanner(r)
		for lines.Scan() && !strings.Contains(lines.Text(), "begun") {
		}
		_ = r.Close()
		if err := cmd.Wait(); err == nil {
			t.Error("it ended with code 0")
		}
		awaitNoProcess(t, mark, goneTimeout)
	})
	t.Run("parent", func(t *testing.T) {
		_, mark, c := start(t)
		out := filepath.Join(t.TempDir(), "out")
		parent := client{
			argv: append(
				[]string{"/bin/sh", "-c", `out=$1; shift; echo go | "$@" >"$out" & echo "$!"; wait`, "sh", out},
				c.argv...),
			dir: c.dir,
			env: c.env,
		}
		w := watch(t, parent.command(t.Context(), t))
		execAwait(t, 20*time.Second, "begin", func() bool {
			raw, err := os.ReadFile(out)
			return err == nil && bytes.Contains(raw, []byte("begun"))
		})
		if err := w.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = w.cmd.Wait() // it was killed
		awaitNoProcess(t, mark, goneTimeout)
		raw, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Split(strings.TrimSpace(string(raw)), "\n"); !strings.HasPrefix(
			lines[len(lines)-1], `{"type":"turn.failed"`,
		) {
			t.Errorf("the last line is %s", lines[len(lines)-1])
		}
	})
}

// A user who starts the program with nohup wants it to outlive its parent.
func TestExecNohup(t *testing.T) {
	srv := modeltest.NewServer(
		t, modeltest.Script(modeltest.Reply(shellCall("echo begun; sleep 2")), modeltest.Say("Done.")),
	)
	mark := "EXEC_MARK=" + filepath.Base(t.TempDir()) + t.Name()
	c := execBinary(t, srv, home(t, mark), "--json", "--yolo", "-m", "gpt-5")
	out := filepath.Join(c.dir, "out")
	c.argv = append(
		[]string{
			"/bin/sh",
			"-c",
			`out=$1; shift; trap '' HUP; echo go | "$@" >"$out" 2>&1 & until grep -q begun "$out"; do sleep 0.05; done`,
			"sh",
			out,
		},
		c.argv...)
	if r := c.run(t); r.code != 0 { // the shell ends while the command runs
		t.Fatalf("code %d: %s", r.code, r.stderr)
	}
	execAwait(t, 30*time.Second, "complete", func() bool {
		raw, err := os.ReadFile(out)
		return err == nil && bytes.Contains(raw, []byte(`{"type":"turn.completed"`))
	})
	awaitNoProcess(t, mark, goneTimeout)
}

// Two interrupts at once end the turn once.
func TestExecTwoInterrupts(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(shellCall(stubborn))))
	mark := "EXEC_MARK=" + filepath.Base(t.TempDir()) + t.Name()
	w := watch(t, execBinary(t, srv, home(t, mark), "--json", "--yolo", "-m", "gpt-5").command(t.Context(), t))
	w.until("begun")
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { _ = w.cmd.Process.Signal(syscall.SIGTERM) })
	}
	both.Wait()
	if last := w.until("turn.failed"); last != `{"type":"turn.failed","error":{"message":"interrupted"}}` {
		t.Error(last)
	}
	for w.lines.Scan() {
		t.Errorf("after the end: %s", w.lines.Text())
	}
	if err := w.cmd.Wait(); w.cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("%v", err)
	}
	awaitNoProcess(t, mark, goneTimeout)
}

// Where there is no turn there is a terminal event all the same.
func TestExecRefuses(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("[1]"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"unknown flag":     {"--json", "--nonsense"},
		"flag after":       {"--nonsense", "--experimental-json"},
		"unknown session":  {"--json", "resume", "01a1ff91-ebcc-7272-a9b2-97c5a56ca100"},
		"no session":       {"--json", "resume", "--last"},
		"missing image":    {"--json", "-i", filepath.Join(dir, "none.png")},
		"no image":         {"--json", "-i", bad},
		"bad schema":       {"--json", "--output-schema", bad},
		"unknown mode":     {"--json", "-s", "anything"},
		"unknown provider": {"--json", "-c", "model_provider=nobody"},
		"no directory":     {"--json", "-C", filepath.Join(dir, "none")},
		"unknown setting":  {"--json", "-c", "settle.nonsense=1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := execBinary(t, nil, home(t), args...).run(t)
			lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
			if r.code != 2 || !strings.HasPrefix(lines[len(lines)-1], `{"type":"turn.failed","error":{"message":"`) ||
				!strings.HasPrefix(r.stderr, "settle: ") {
				t.Errorf("code %d\nstdout:\n%s\nstderr:\n%s", r.code, r.stdout, r.stderr)
			}
		})
	}
	t.Run("a signal before the prompt", func(t *testing.T) {
		cmd := execBinary(t, nil, home(t), "--json").command(t.Context(), t)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		var out bytes.Buffer
		cmd.Stdin, cmd.Stdout = r, &out
		if _, err := w.WriteString("a prompt that has no e"); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		execAwait(t, 10*time.Second, "read the prompt", func() bool {
			left, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
			return err == nil && left == 0
		})
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // its code is looked at
		if code := cmd.ProcessState.ExitCode(); code != 143 ||
			!strings.Contains(out.String(), `{"type":"turn.failed"`) {
			t.Errorf("code %d, stdout %s", code, out.String())
		}
	})
}

// settle itself is killed: nothing is left, and the session says so when it goes
// on.
func TestExecIsKilled(t *testing.T) {
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(shellCall(stubborn)), modeltest.Say("I go on.")))
	mark := "EXEC_MARK=" + filepath.Base(t.TempDir()) + t.Name()
	env := home(t, mark)
	w := watch(t, execBinary(t, srv, env, "--json", "--yolo", "-m", "gpt-5").command(t.Context(), t))
	thread := struct {
		ID string `json:"thread_id"`
	}{}
	if err := json.Unmarshal([]byte(w.until("thread.started")), &thread); err != nil {
		t.Fatal(err)
	}
	w.until("begun")
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = w.cmd.Wait() // it was killed
	awaitNoProcess(t, mark, goneTimeout)
	said := execRun(t, srv, execPlan{Resume: thread.ID, Turns: []execTurn{{Input: "go on", Stream: true}}}, env)
	if got := strings.Join(execEvents(said), ", "); got != "thread.started, item.completed error, turn.started, item.completed agent_message, turn.completed" {
		t.Errorf("events %s", got)
	}
	if message := said[1].Event.Item.Message; !strings.Contains(message, "was killed") {
		t.Errorf("the session says %q", message)
	}
	execKept(t, srv)
}
