package assemble

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/model/script"
)

// outputs runs each command in a step of its own, and returns the results.
func outputs(t *testing.T, a *Agent) []event.Item {
	t.Helper()
	host, err := settle.Open(t.Context(), a.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = host.Close(t.Context()) }()
	s, err := host.Session(t.Context(), "", a.Session)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.Submit(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	var calls []event.Item
	for _, i := range s.State().Turns[0].Items {
		if i.Content().Type == event.ToolCall {
			calls = append(calls, *i)
		}
	}
	return calls
}

func commands(list ...string) *script.Model {
	var steps []script.Step
	for _, command := range list {
		args, _ := json.Marshal(map[string]string{"command": command}) // texts
		steps = append(steps, script.Turn(script.Call("shell", string(args))))
	}
	return script.New(append(steps, script.Text("Done."))...)
}

// A command that runs without an approval because it seems only to read can do nothing else: the
// kernel refuses effects that the policy missed.
func TestReadingCommandsAreSandboxed(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Logf("nothing can be confined here: %v", err)
		return
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hidden"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := make1(t, resolve(t, "/", nil, nil, ""), func(o *Options) {
		o.Permission = settle.Ask
		o.Model = scripted(
			commands("ls && cat known", "echo x >written; echo tried", "cat "+secret, "kill -0 1; echo $?"),
		)
		o.Reviewed = func(_ settle.Approval, j settle.Judgement) settle.Judgement { // a policy with holes
			return settle.Judgement{Decision: settle.Allow, Sandbox: event.ReadOnly}
		}
		if err := os.WriteFile(filepath.Join(o.Dir, "known"), []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	calls := outputs(t, a)
	for i, want := range []string{"content", "tried", "ermission denied", "1"} {
		if !strings.Contains(calls[i].Content().Output, want) || strings.Contains(calls[i].Content().Output, "hidden") {
			t.Errorf("call %d: %q, want %q", i, calls[i].Content().Output, want)
		}
	}
	if _, err := os.Stat(filepath.Join(a.Session.WorkDir, "written")); err == nil {
		t.Error("a confined command has written")
	}
}

// Calls that no rule and no person allowed are sandboxed.
func TestWhichCallsAreConfined(t *testing.T) {
	can := proc.Confines() == nil
	for _, tt := range []struct {
		name       string
		permission settle.Permission
		file       string
		confined   bool
	}{
		{"ask", settle.Ask, "", true},
		{"by a rule", settle.Ask, "[[rules]]\ntool = \"shell\"\npattern = \"echo hi\"\ndecision = \"allow\"\n", false},
		{"allow", settle.Allow, "[[rules]]\ntool = \"shell\"\npattern = \"rm *\"\ndecision = \"deny\"\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := make1(t, resolve(t, "/", nil, nil, tt.file), func(o *Options) {
				o.Permission, o.Model = tt.permission, scripted(commands("echo hi"))
			})
			host, err := settle.Open(t.Context(), a.Host)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = host.Close(t.Context()) }()
			s, err := host.Session(t.Context(), "", a.Session)
			if err != nil {
				t.Fatal(err)
			}
			turn, err := s.Submit(t.Context(), "go")
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for e, err := range turn.Events(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if started, ok := e.Data.(event.CallStarted); ok {
					found = true
					if (started.Sandbox == event.ReadOnly) != (tt.confined && can) {
						t.Errorf("sandbox: %q", started.Sandbox)
					}
				}
			}
			if !found {
				t.Error("no call started")
			}
		})
	}
}
