package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/run"
)

// runner answers by command and keeps the hooks' inputs.
type runner struct {
	answers map[string]func(in map[string]any) (hooks.Result, error)

	mu     sync.Mutex // guards the fields below
	inputs []map[string]any
	ran    []string
}

func (r *runner) Run(_ context.Context, c hooks.Command) (hooks.Result, error) {
	var in map[string]any
	if err := json.Unmarshal(c.Stdin, &in); err != nil {
		return hooks.Result{}, err
	}
	r.mu.Lock()
	r.inputs, r.ran = append(r.inputs, in), append(r.ran, c.Line)
	r.mu.Unlock()
	if answer := r.answers[c.Line]; answer != nil {
		return answer(in)
	}
	return hooks.Result{Stdout: []byte(c.Line)}, nil
}

// bench is a turn with the waiting call i1.
type bench struct {
	set    *hooks.Set
	log    *journal.Log
	runner *runner
}

func newBench(t *testing.T, list ...run.Hook) *bench {
	t.Helper()
	b := &bench{
		log:    journal.NewMemory("s"),
		runner: &runner{answers: map[string]func(map[string]any) (hooks.Result, error){}},
	}
	in := func(d event.Data) event.Event { return event.Event{Turn: "t1", Attempt: "a1", Item: "i1", Data: d} }
	if err := b.log.Update(func(event.State) []event.Event {
		return []event.Event{
			{Data: event.SessionOpened{Dir: "/work"}},
			{Data: event.InputAccepted{Input: "n1", Text: "go"}},
			{Turn: "t1", Data: event.TurnStarted{Inputs: []string{"n1"}}},
			{Turn: "t1", Attempt: "a1", Data: event.AttemptStarted{Step: 1, N: 1}},
			in(event.ItemStarted{Type: event.ToolCall}), in(event.CallReady{Name: "shell", CallID: "c1", Arguments: `{"command":"ls"}`}),
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.set = hooks.New(hooks.Config{Hooks: list, Runner: b.runner, Log: b.log, Dir: "/work", Permission: event.Ask})
	t.Cleanup(func() { _ = b.log.Close(context.Background()) })
	return b
}

func (b *bench) ended() (list []event.HookEnded) {
	b.log.View(func(s event.State) {
		for _, h := range s.Running().Hooks {
			if h.Ended == nil {
				list = append(list, event.HookEnded{Hook: h.Hook})
			} else {
				list = append(list, *h.Ended)
			}
		}
	})
	return list
}

func call(tool, arguments string) hooks.Call {
	return hooks.Call{Turn: "t1", Item: "i1", Tool: tool, Arguments: arguments}
}

func before(matcher, command string) run.Hook {
	return run.Hook{Event: event.HookBefore, Matcher: matcher, Command: command, Own: true}
}

// A broken hook without a command, such as that of a list of plugins, denies for its own reason.
func TestBrokenHookWithoutCommandDeniesForItsReason(t *testing.T) {
	b := newBench(t, run.Hook{Event: event.HookBefore, Broken: "no plugin is used: repair the file"})
	if _, err := b.set.Before(t.Context(), call("shell", `{}`)); err != nil {
		t.Fatal(err)
	}
	got := b.ended()
	if len(got) != 1 || got[0].Decision != event.Deny || got[0].Reason != "no plugin is used: repair the file" {
		t.Errorf("got %+v", got)
	}
}

// Each command prints its own text.
func TestAnswers(t *testing.T) {
	specific := func(members string) string {
		return `{"hookSpecificOutput":{"hookEventName":"PreToolUse",` + members + `}}`
	}
	for _, c := range []struct {
		prints   string
		code     int
		stderr   string
		outcome  event.Outcome
		decision event.Permission
		reason   string // a part
	}{
		{"", 0, "", event.Completed, "", ""},
		{"all is well", 0, "", event.Completed, "", ""},
		{"", 2, "not here", event.Completed, event.Deny, "not here"},
		{"", 2, "", event.Completed, event.Deny, "no reason"},
		{"", 1, "boom", event.Failed, event.Deny, "code 1: boom"},
		{specific(`"permissionDecision":"deny","permissionDecisionReason":"no"`), 0, "", event.Completed, event.Deny, "no"},
		{specific(`"permissionDecision":"allow"`), 0, "", event.Completed, event.Allow, ""},
		{specific(`"permissionDecision":"ask"`), 0, "", event.Completed, event.Ask, ""},
		{specific(`"permissionDecision":"defer"`), 0, "", event.Completed, event.Ask, ""},
		{specific(`"permissionDecision":"perhaps"`), 0, "", event.Failed, event.Deny, "perhaps"},
		{specific(`"permissionDecision":7`), 0, "", event.Failed, event.Deny, "no answer"},
		{`{"hookSpecificOutput":{"hookEventName":"Stop","permissionDecision":"allow"}}`, 0, "", event.Failed, event.Deny, "for Stop"},
		{`{"decision":"block","reason":"stop it"}`, 0, "", event.Completed, event.Deny, "stop it"},
		{`{"decision":"approve"}`, 0, "", event.Completed, event.Allow, ""},
		{`{"continue":false,"stopReason":"enough"}`, 0, "", event.Completed, event.Deny, "enough"},
		{"Welcome!\n" + `{"decision":"block"}`, 0, "", event.Failed, event.Deny, "no answer"},
		{"{", 0, "", event.Failed, event.Deny, "no answer"},
		{"\xff\x00", 0, "", event.Failed, event.Deny, "not text"},
	} {
		b := newBench(t, before("", "x"))
		b.runner.answers["x"] = func(map[string]any) (hooks.Result, error) {
			return hooks.Result{Code: c.code, Stdout: []byte(c.prints), Stderr: []byte(c.stderr)}, nil
		}
		v, err := b.set.Before(t.Context(), call("shell", `{"command":"ls"}`))
		got := b.ended()[0]
		if err != nil || got.Outcome != c.outcome || got.Decision != c.decision || v.Decision != c.decision ||
			!strings.Contains(got.Reason, c.reason) {
			t.Errorf("%q with %d: %+v, %+v, %v", c.prints, c.code, v, got, err)
		}
	}
}

// A hook that changed after it was trusted does not run; a blocking one denies.
func TestHookThatHasChangedDoesNotRun(t *testing.T) {
	h := before("", "x")
	h.Check = func(context.Context) error { return errors.New("its script has changed") }
	b := newBench(t, h)
	b.runner.answers["x"] = func(map[string]any) (hooks.Result, error) {
		t.Error("it ran")
		return hooks.Result{}, nil
	}
	v, err := b.set.Before(t.Context(), call("shell", `{"command":"ls"}`))
	if got := b.ended()[0]; err != nil || v.Decision != event.Deny || got.Outcome != event.Failed ||
		!strings.Contains(got.Reason, "its script has changed") {
		t.Errorf("%+v, %+v, %v", v, got, err)
	}
}

// The check of a hook counts as its run: it ends with the hook's timeout, and a blocking hook denies.
func TestCheckEndsWithTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := before("", "x")
		h.Timeout = time.Second
		h.Check = func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		b := newBench(t, h)
		v, err := b.set.Before(t.Context(), call("shell", `{"command":"ls"}`))
		if got := b.ended()[0]; err != nil || v.Decision != event.Deny || got.Outcome != event.Failed ||
			!strings.Contains(got.Reason, "did not end within 1s") {
			t.Errorf("%+v, %+v, %v", v, got, err)
		}
	})
}

// Hooks with Claude Code's names, and with settle's names, match settle's tools.
func TestMatchers(t *testing.T) {
	for _, c := range []struct {
		matcher, tool, name string // name is tool_name; "" if it does not match
	}{
		{"", "shell", "Bash"},
		{"*", "shell", "Bash"},
		{"Bash", "shell", "Bash"},
		{"shell", "shell", "shell"},
		{"bash", "shell", ""},
		{"Edit|Write", "write", "Write"},
		{"Edit|Write", "read", ""},
		{"Edit|MultiEdit", "edit", "Edit"},
		{"Notebook.*", "write", ""},
		{"mcp__.*", "files__read", "mcp__files__read"},
		{"mcp__files__read", "files__read", "mcp__files__read"},
		{"files__read", "files__read", "files__read"},
		{"^(?!Read)", "shell", "Bash"}, // Go does not support the syntax: it matches everything
		{"Ba.h", "shell", "Bash"},
	} {
		b := newBench(t, before(c.matcher, "x"))
		if _, err := b.set.Before(t.Context(), call(c.tool, `{}`)); err != nil {
			t.Fatal(err)
		}
		name := ""
		if len(b.runner.inputs) > 0 {
			name, _ = b.runner.inputs[0]["tool_name"].(string)
		}
		if name != c.name {
			t.Errorf("%q about %s: tool_name is %q, not %q", c.matcher, c.tool, name, c.name)
		}
	}
}

// A hook that protects a file receives each file of a patch.
func TestHookReceivesPatchFileByFile(t *testing.T) {
	b := newBench(t, before("Edit|Write", "guard"))
	b.runner.answers["guard"] = func(in map[string]any) (hooks.Result, error) {
		input, _ := in["tool_input"].(map[string]any)
		if input["file_path"] == "/work/.env" {
			return hooks.Result{Code: 2, Stderr: []byte("keep off")}, nil
		}
		return hooks.Result{}, nil
	}
	patch, _ := json.Marshal(
		map[string]string{
			"input": "*** Begin Patch\n*** Add File: a.go\n+x\n*** Update File: .env\n@@\n-a\n+b\n*** End Patch\n",
		},
	)
	v, err := b.set.Before(t.Context(), call("apply_patch", string(patch)))
	if err != nil || !v.Denied() || v.Reason != "keep off" {
		t.Errorf("%+v, %v", v, err)
	}
	var names []string
	for _, in := range b.runner.inputs {
		names = append(names, fmt.Sprint(in["tool_name"]))
	}
	if slices.Sort(names); !slices.Equal(names, []string{"Edit", "Write"}) {
		t.Errorf("told as %q", names)
	}
}

// A hook can change arguments under any agent's names.
func TestChanges(t *testing.T) {
	for _, c := range []struct{ tool, arguments, updated, want string }{
		{"shell", `{"command":"ls","timeout_ms":1000}`, `{"command":"ls","timeout":1000,"timeout_ms":1000}`, ""},
		{"shell", `{"command":"ls","timeout_ms":1000}`, `{"command":"ls","timeout":2000}`, `{"command":"ls","timeout_ms":2000}`},
		{"shell", `{"command":"ls","timeout_ms":1000}`, `{"command":"ls -l"}`, `{"command":"ls -l"}`},
		{"shell", `{"command":"ls"}`, `{"command":"ls","run_in_background":true}`, `{"background":true,"command":"ls"}`},
		{"write", `{"path":"a","content":"x"}`, `{"file_path":"/work/a","content":"y"}`, `{"content":"y","path":"a"}`},
		{"write", `{"path":"a","content":"x"}`, `{"file_path":"/tmp/a","path":"a","content":"x"}`, `{"content":"x","path":"/tmp/a"}`},
		{"files__read", `{"n":1.0}`, `{"n":1.0}`, ""},
		{"grep", `{"path":"a","pattern":"x"}`, `{"path":"/work/a","pattern":"y"}`, `{"path":"a","pattern":"y"}`},
		{"grep", `{"path":"a"}`, `{"path":"/work/a"}`, ""},
		{"grep", `{"path":"a"}`, `{"path":"/tmp/a"}`, `{"path":"/tmp/a"}`},
		{"edit", `{"path":"a.ipynb"}`, `{"notebook_path":"/tmp/a.ipynb"}`, `{"path":"/tmp/a.ipynb"}`},
	} {
		b := newBench(t, before("", "x"))
		b.runner.answers["x"] = func(map[string]any) (hooks.Result, error) {
			return hooks.Result{Stdout: []byte(`{"hookSpecificOutput":{"updatedInput":` + c.updated + `}}`)}, nil
		}
		v, err := b.set.Before(t.Context(), call(c.tool, c.arguments))
		if err != nil || v.Denied() || v.Arguments != c.want {
			t.Errorf("%s of %s becomes %q, %+v, %v", c.updated, c.arguments, v.Arguments, v, err)
		}
	}
}

// A blocking hook that ran before the hook that changes the call runs again.
func TestBlockingHooksSeeFinalCall(t *testing.T) {
	b := newBench(t, before("", "guard"), before("", "change"))
	b.runner.answers["guard"] = func(in map[string]any) (hooks.Result, error) {
		if raw, _ := json.Marshal(in); strings.Contains(string(raw), "rm x") {
			return hooks.Result{Code: 2, Stderr: []byte("no rm")}, nil
		}
		return hooks.Result{}, nil
	}
	b.runner.answers["change"] = func(map[string]any) (hooks.Result, error) {
		return hooks.Result{Stdout: []byte(`{"hookSpecificOutput":{"updatedInput":{"command":"rm x"}}}`)}, nil
	}
	v, err := b.set.Before(t.Context(), call("shell", `{"command":"ls"}`))
	if err != nil || !v.Denied() || v.Reason != "no rm" {
		t.Errorf("%+v, %v", v, err)
	}
	if len(b.runner.ran) != 3 {
		t.Errorf("ran %q", b.runner.ran)
	}
}

// An approval by a hook of the user does not count for a call that another hook changed. If the
// hook matches the changed call, it runs again.
func TestChangeWithdrawsAllowance(t *testing.T) {
	patch := func(head string) string {
		raw, _ := json.Marshal(map[string]string{"input": "*** Begin Patch\n*** " + head + "\n+x\n*** End Patch\n"})
		return string(raw)
	}
	for changed, want := range map[string]event.Permission{
		patch("Update File: .env\n@@"): "",
		patch("Add File: b.go"):        event.Allow,
	} {
		change := before("", "change")
		change.Own = false
		b := newBench(t, before("Write", "allow"), change)
		b.runner.answers["allow"] = func(map[string]any) (hooks.Result, error) {
			return hooks.Result{Stdout: []byte(`{"hookSpecificOutput":{"permissionDecision":"allow"}}`)}, nil
		}
		b.runner.answers["change"] = func(map[string]any) (hooks.Result, error) {
			return hooks.Result{Stdout: []byte(`{"hookSpecificOutput":{"updatedInput":` + changed + `}}`)}, nil
		}
		v, err := b.set.Before(t.Context(), call("apply_patch", patch("Add File: a.go")))
		if err != nil || v.Decision != want || v.Arguments != changed {
			t.Errorf("%s: %+v, %v", changed, v, err)
		}
	}
}

// Hooks that change the call in turn deny it.
func TestConflictingHooksDeny(t *testing.T) {
	b := newBench(t, before("", "one"), before("", "two"))
	for name := range map[string]bool{"one": true, "two": true} {
		b.runner.answers[name] = func(map[string]any) (hooks.Result, error) {
			return hooks.Result{
				Stdout: fmt.Appendf(nil, `{"hookSpecificOutput":{"updatedInput":{"command":%q}}}`, name),
			}, nil
		}
	}
	v, err := b.set.Before(t.Context(), call("shell", `{"command":"ls"}`))
	if err != nil || !v.Denied() || !strings.Contains(v.Reason, "keep changing") {
		t.Errorf("%+v, %v", v, err)
	}
}

// A project's hook cannot allow a call, but can require approval and deny.
func TestProjectHooksCannotAllow(t *testing.T) {
	for _, c := range []struct {
		own        bool
		word, want event.Permission
	}{{true, event.Allow, event.Allow}, {false, event.Allow, ""}, {false, event.Ask, event.Ask}, {false, event.Deny, event.Deny}} {
		h := before("", "x")
		h.Own = c.own
		b := newBench(t, h)
		b.runner.answers["x"] = func(map[string]any) (hooks.Result, error) {
			return hooks.Result{
				Stdout: fmt.Appendf(nil, `{"hookSpecificOutput":{"permissionDecision":%q}}`, c.word),
			}, nil
		}
		if v, err := b.set.Before(t.Context(), call("shell", `{}`)); err != nil || v.Decision != c.want {
			t.Errorf("own %v, %q: %+v, %v", c.own, c.word, v, err)
		}
	}
}

// A hook that hangs ends at its timeout, even if the runner does not return.
func TestTimeLimit(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, before("", "x"))
			over := make(chan struct{})
			b.set.Runner = runs(func(ctx context.Context) (hooks.Result, error) {
				if deaf {
					<-over
					return hooks.Result{}, nil
				}
				<-ctx.Done()
				return hooks.Result{}, context.Cause(ctx)
			})
			began := time.Now()
			v, err := b.set.Before(t.Context(), call("shell", `{}`))
			if took := time.Since(began); err != nil || !v.Denied() || took < hooks.DefaultTimeout ||
				took > hooks.DefaultTimeout+5*time.Second {
				t.Errorf("after %v: %+v, %v", took, v, err)
			}
			close(over)
			synctest.Wait()
		})
	}
}

type runs func(context.Context) (hooks.Result, error)

func (r runs) Run(ctx context.Context, _ hooks.Command) (hooks.Result, error) { return r(ctx) }

// Failures of other hooks are recorded and delay nothing.
func TestFailingHooksDelayNothing(t *testing.T) {
	b := newBench(t, run.Hook{Event: event.HookAfter, Command: "x"}, run.Hook{Event: event.HookAfter, Command: "panic"})
	b.runner.answers["x"] = func(map[string]any) (hooks.Result, error) { return hooks.Result{}, errors.New("no such program") }
	b.runner.answers["panic"] = func(map[string]any) (hooks.Result, error) { panic("as planned") }
	v, err := b.set.After(t.Context(), call("shell", `{}`), hooks.Ended{Output: "done"})
	if err != nil || v.Denied() || v.Stop {
		t.Errorf("%+v, %v", v, err)
	}
	for _, h := range b.ended() {
		if h.Outcome != event.Failed || h.Reason == "" || h.Decision != "" {
			t.Errorf("%+v", h)
		}
	}
}

// A hook that ctx ends is recorded with its cause and has no effect.
func TestAbortedHookIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, before("", "x"))
		b.set.Runner = runs(func(ctx context.Context) (hooks.Result, error) {
			<-ctx.Done()
			return hooks.Result{}, context.Cause(ctx)
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(event.Abort(event.Interrupted, "user")) })
		_, err := b.set.Before(ctx, call("shell", `{}`))
		if got := b.ended()[0]; err == nil || got.Outcome != event.Aborted || got.Cause.Reason != event.Interrupted {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := b.set.Before(ctx, call("shell", `{}`)); err == nil || len(b.ended()) != 1 {
			t.Errorf("a hook began after the end: %v", err)
		}
	})
}

// Without hooks, there are no events and no allocations.
func TestNoHooksCostNothing(t *testing.T) {
	var none *hooks.Set
	b := newBench(t, run.Hook{Event: event.HookStop, Command: "x"})
	c := call("shell", `{"command":"ls"}`)
	for _, set := range []*hooks.Set{none, b.set} {
		if n := testing.AllocsPerRun(100, func() {
			_, _ = set.Before(context.Background(), c)
			_, _ = set.After(context.Background(), c, hooks.Ended{})
			_, _ = set.Permit(context.Background(), c)
		}); n > 4 {
			t.Errorf("%v allocations", n)
		}
	}
	if got := b.ended(); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}
