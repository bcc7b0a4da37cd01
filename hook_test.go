package settle_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// hookBench is a session whose hooks are real processes.
type hookBench struct {
	t        *testing.T
	dir      string
	provider *script.Model
	session  *settle.Session
	host     *settle.Host
}

func newHookBench(
	t *testing.T,
	provider *script.Model,
	change func(*settle.SessionConfig),
	list ...settle.Hook,
) *hookBench {
	t.Helper()
	host, err := settle.Open(t.Context(), settle.Config{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	b := &hookBench{t: t, dir: t.TempDir(), provider: provider, host: host}
	for n := range list {
		list[n].Source, list[n].Own = "test", true
		if list[n].Timeout == 0 {
			list[n].Timeout = time.Minute // a slow machine must not look like a hook that hangs
		}
	}
	c := settle.SessionConfig{
		Model: model.Config{
			Provider:     provider,
			ProviderName: "script",
			Name:         "m",
		}, WorkDir: b.dir, Permission: settle.Allow, Tools: []tool.Tool{echoShell{}},
		Hooks: &settle.Hooks{List: list, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + b.dir}},
	}
	if change != nil {
		change(&c)
	}
	if b.session, err = host.Session(t.Context(), "", c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return b
}

// done checks the log and returns the state.
func (b *hookBench) done() event.State {
	b.t.Helper()
	state := b.session.State()
	var log []event.Event
	for e, err := range b.session.Events(b.t.Context(), 0) {
		if err != nil {
			b.t.Fatal(err)
		}
		if log = append(log, e); e.Seq == state.Seq {
			break
		}
	}
	if err := (contract.Checker{Unfinished: true}).Check(log); err != nil {
		b.t.Error(err)
	}
	return state
}

// lastRequest returns the text of the last model request.
func (b *hookBench) lastRequest() string {
	var all []string
	requests := b.provider.Requests()
	for _, item := range requests[len(requests)-1].Input {
		all = append(all, item.Text)
	}
	return strings.Join(all, "\n")
}

func shellCall(command string) *script.Model {
	arguments, _ := json.Marshal(map[string]string{"command": command})
	return script.New(script.Turn(script.Call("shell", string(arguments))), script.Turn(script.Text("done")))
}

// publishedGate is a hook as people publish it for Claude Code, without jq: it reads
// tool_input.command, and denies with JSON or with exit code 2.
const publishedGate = `#!/bin/sh
INPUT=$(cat)
TOOL=$(printf '%s' "$INPUT" | sed -n 's/.*"tool_name":"\([^"]*\)".*/\1/p')
COMMAND=$(printf '%s' "$INPUT" | sed -n 's/.*"command":"\([^"]*\)".*/\1/p')
[ "$TOOL" = "Bash" ] || exit 0
case "$COMMAND" in
*"rm -rf"*)
	echo "BLOCKED: rm -rf is not allowed in $CLAUDE_PROJECT_DIR" >&2
	exit 2
	;;
*"git push"*)
	echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"push by hand"}}'
	;;
"npm "*)
	echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"pnpm install"},"additionalContext":"this project uses pnpm"}}'
	;;
esac
exit 0
`

func TestPublishedHook(t *testing.T) {
	for _, c := range []struct {
		name, command string
		output        string // of the call, a part
		modelText     string // to the model, a part
		effective     string
	}{
		{"nothing to say", "ls", "ran ls", "ran ls", ""},
		{"exit code 2", "rm -rf /", "BLOCKED: rm -rf is not allowed in ", "BLOCKED", ""},
		{"a denial in JSON", "git push", "push by hand", "push by hand", ""},
		{"a change", "npm install", "ran pnpm install", "this project uses pnpm", `{"command":"pnpm install"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "gate.sh")
			if err := os.WriteFile(script, []byte(publishedGate), 0o700); err != nil {
				t.Fatal(err)
			}
			b := newHookBench(
				t,
				shellCall(c.command),
				nil,
				settle.Hook{Event: event.HookBefore, Matcher: "Bash|Edit", Command: script},
			)
			if _, err := b.session.Run(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			state := b.done()
			i := state.Turns[0].Items[0]
			if got := i.Content(); !strings.Contains(got.Output, c.output) || got.Effective != c.effective {
				t.Errorf("%s: %+v", i.Status, got)
			}
			if told := b.lastRequest(); !strings.Contains(told, c.modelText) ||
				c.effective != "" && !strings.Contains(told, "A hook changed this call") {
				t.Errorf("the model was told:\n%s", told)
			}
			if hooks := state.Turns[0].Hooks; len(hooks) != 1 || hooks[0].Ended == nil ||
				hooks[0].Ended.Outcome != event.Completed {
				t.Errorf("%+v", hooks)
			}
		})
	}
}

// Blocking hooks that fail as real processes deny.
func TestFailingBlockingHooksDeny(t *testing.T) {
	for _, c := range []struct{ name, command, why string }{
		{"it is not there", "/nowhere/gate", "code 127"},
		{"it crashes", "exit 1", "code 1"},
		{"it is killed", "kill -9 $$", "killed"},
		{"it kills its parent", "kill -9 $PPID; sleep 1", ""},
		{"it hangs", "exec sleep 86399", "did not end within"},
		{"it hangs, ignoring TERM", "trap '' TERM; while :; do sleep 1; done", "did not end within"},
		{"it hangs, and what it started does", "sleep 86398 & sleep 86397", "did not end within"},
		{"it floods", "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done", "put out more"},
		{"it prints no answer", "echo '{\"hookSpecificOutput\":'", "no answer"},
		{"it prints something before", "printf 'Welcome!\\n{\"decision\":\"block\"}\\n'", "no answer"},
		{"it prints what is not text", "printf '\\000\\377'", "not text"},
		{"its decision is not known", "echo '{\"decision\":\"maybe\"}'", "maybe"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(c.command, "$PPID") && runtime.GOOS != "linux" {
				return // that would be this test
			}
			limit := time.Minute
			if strings.Contains(c.name, "hangs") {
				limit = time.Second
			}
			b := newHookBench(
				t,
				shellCall("ls"),
				nil,
				settle.Hook{Event: event.HookBefore, Command: c.command, Timeout: limit},
			)
			if _, err := b.session.Run(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			state := b.done()
			i, hooks := state.Turns[0].Items[0], state.Turns[0].Hooks
			if i.Started || !strings.Contains(i.Content().Output, "did not allow") {
				t.Errorf("the call ran: %+v", i.Content())
			}
			if len(hooks) != 1 || hooks[0].Ended.Outcome != event.Failed || hooks[0].Ended.Decision != event.Deny ||
				!strings.Contains(hooks[0].Ended.Reason, c.why) {
				t.Errorf("%+v", hooks[0].Ended)
			}
		})
	}
}

// C7: also a process that was started twice over in a session of its own.
func TestNothingOutlivesAHook(t *testing.T) {
	b := newHookBench(t, shellCall("ls"), nil, settle.Hook{
		Event: event.HookAfter, Command: `(trap '' TERM; (trap '' TERM; echo $$ > twice; exec sleep 86396) & exec sleep 86396) >/dev/null 2>&1 & wait $! & echo "$!" > once`,
	})
	if _, err := b.session.Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	state := b.done()
	for _, h := range state.Turns[0].Hooks {
		if h.Ended.Outcome != event.Completed || len(h.Ended.Survivors) > 0 {
			t.Errorf("%+v", h.Ended)
		}
	}
	if left := holders(t, b.dir); len(left) > 0 {
		t.Errorf("processes in the hook's directory run on: %v", left)
	}
}

// holders returns the processes whose working directory is dir.
func holders(t *testing.T, dir string) (pids []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil && runtime.GOOS == "linux" { // elsewhere they are counted when all tests are over
		t.Fatal(err)
	}
	for _, e := range entries {
		if at, err := os.Readlink("/proc/" + e.Name() + "/cwd"); err == nil && at == dir {
			pids = append(pids, e.Name())
		}
	}
	return pids
}

// TestInterruptEndsAHook: C9.
func TestInterruptEndsAHook(t *testing.T) {
	b := newHookBench(
		t,
		shellCall("ls"),
		nil,
		settle.Hook{Event: event.HookBefore, Command: "trap '' TERM; sleep 86395; sleep 86395"},
	)
	turn, err := b.session.Submit(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range turn.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind() == event.KindHookStarted {
			break
		}
	}
	if _, err := b.session.Interrupt(t.Context(), settle.Interruption{By: "user"}); err != nil {
		t.Fatal(err)
	}
	state := b.done()
	h, i := state.Turns[0].Hooks[0], state.Turns[0].Items[0]
	if h.Ended.Outcome != event.Aborted || h.Ended.Cause.Reason != event.Interrupted || i.Effects != event.EffectsNone {
		t.Errorf("%+v; the call: %s %s", h.Ended, i.Status, i.Effects)
	}
}

// TestHooksOfASession plays a session with a hook on each occasion.
func TestHooksOfASession(t *testing.T) {
	record := func(e event.HookEvent, answer string) settle.Hook {
		return settle.Hook{Event: e, Command: `{ cat; echo; } >> seen; ` + answer}
	}
	provider := script.New(
		script.Turn(
			script.Call("shell", `{"command":"ls"}`),
		),
		script.Turn(script.Text("done")),
		script.Turn(script.Text("done, and tested")),
	)
	b := newHookBench(t, provider, nil,
		record(event.HookSessionStart, "echo the branch is main"),
		record(event.HookPrompt, "echo be brief"),
		record(event.HookBefore, ""),
		record(event.HookAfter, `echo '{"decision":"block","reason":"format it"}'`),
		record(event.HookStop, `grep -q '"stop_hook_active":true' seen || { echo run the tests >&2; exit 2; }`),
		record(event.HookSessionEnd, ""),
	)
	o, err := b.session.Run(t.Context(), "go")
	if err != nil || o.Answer != "done, and tested" {
		t.Fatal(o, err)
	}
	b.done()
	told := b.lastRequest()
	for last, text := range []string{"go", "the branch is main", "be brief", "ran ls", "format it", "run the tests"} {
		at := strings.Index(told, text)
		if at < last {
			t.Errorf("%q is not told in its place:\n%s", text, told)
		}
		told = told[max(at, 0):]
	}
	if err := b.session.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen, err := os.ReadFile(filepath.Join(b.dir, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(seen)) {
		var in struct {
			Event   string `json:"hook_event_name"`
			Session string `json:"session_id"`
			Cwd     string `json:"cwd"`
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &in); err != nil || in.Session != b.session.ID() || in.Cwd != b.dir {
			t.Errorf("%v: %s", err, line)
		}
		names = append(names, in.Event)
	}
	want := "SessionStart UserPromptSubmit PreToolUse PostToolUse Stop Stop SessionEnd"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("hooks ran for %s, not %s", got, want)
	}
}

// The turn fails without a model request, the model never receives the prompt, and the next
// prompt works.
func TestRefusedPrompt(t *testing.T) {
	provider := script.New(script.Turn(script.Text("hello")))
	b := newHookBench(
		t,
		provider,
		nil,
		settle.Hook{
			Event:   event.HookPrompt,
			Command: `grep -q secret && { echo "no secrets here" >&2; exit 2; }; exit 0`,
		},
	)
	_, err := b.session.Run(t.Context(), "the secret is 4711")
	if err == nil || !strings.Contains(err.Error(), "no secrets here") || len(provider.Requests()) > 0 {
		t.Fatalf("%v, with %d requests", err, len(provider.Requests()))
	}
	if _, err := b.session.Run(t.Context(), "hi"); err != nil {
		t.Fatal(err)
	}
	state := b.done()
	if told := b.lastRequest(); strings.Contains(told, "4711") || !strings.Contains(told, "hi") {
		t.Errorf("the model was told:\n%s", told)
	}
	if in := state.Turns[0].Inputs[0]; !in.Refused || !in.Kept() ||
		state.Turns[0].Cause.Failure.Name != event.NameHook {
		t.Errorf("%+v; %v", in, state.Turns[0].Cause)
	}
}

// The user's own hook allows a call, or requires approval; without an approver, the call is
// denied.
func TestHooksAndPolicy(t *testing.T) {
	word := func(word string) string {
		return `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"` + word + `"}}'`
	}
	for _, c := range []struct {
		policy  settle.Permission
		command string
		own     bool
		runs    bool
	}{
		{settle.Ask, "true", true, false},
		{settle.Ask, word("allow"), true, true},
		{settle.Ask, word("allow"), false, false},
		{settle.Deny, word("allow"), true, false},
		{settle.Allow, word("ask"), true, false},
		{settle.Allow, "true", true, true},
	} {
		b := newHookBench(t, shellCall("ls"), func(s *settle.SessionConfig) {
			s.Permission = c.policy
			s.Hooks.List[0].Own = c.own
		}, settle.Hook{Event: event.HookBefore, Command: c.command})
		if _, err := b.session.Run(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		if i := b.done().Turns[0].Items[0]; i.Started != c.runs {
			t.Errorf("policy %s, own %v, %s: %+v", c.policy, c.own, c.command, i.Content())
		}
	}
}
