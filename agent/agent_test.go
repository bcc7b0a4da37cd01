package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/agent"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// open opens an agent, which is closed when the test ends.
func open(t *testing.T, c agent.Config) *agent.Agent {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	c.Model.Name = "m"
	a, err := agent.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a
}

func scripted(turns ...script.Step) (*script.Model, model.Config) {
	m := script.New(turns...)
	return m, model.Config{Provider: m, ProviderName: "script"}
}

// The prompt has the project's instructions, and the model gets the tools that suit it and the
// program's own.
func TestModelReceivesPromptAndTools(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("use tabs"), 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := tool.New(
		"deploy",
		"Deploys.",
		func(context.Context, struct{}) (string, error) { return "deployed", nil },
	)
	if err != nil {
		t.Fatal(err)
	}
	m, c := scripted(script.Text("hello"))
	a := open(
		t,
		agent.Config{
			Model:        c,
			Dir:          dir,
			Tools:        []string{"read", "shell"},
			Extra:        []tool.Tool{own},
			Instructions: "be brief",
		},
	)
	o, err := a.Run(t.Context(), "hi")
	if err != nil || o.Answer != "hello" {
		t.Errorf("%+v, %v", o, err)
	}
	r := m.Requests()[0]
	if !strings.Contains(r.System, "use tabs") || !strings.HasSuffix(r.System, "be brief") ||
		!strings.Contains(r.System, dir) {
		t.Errorf("system prompt %q", r.System)
	}
	var names []string
	for _, x := range r.Tools {
		names = append(names, x.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"deploy", "read", "shell"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

// Commands get the configured environment, without keys.
func TestEnvironment(t *testing.T) {
	const key = "sk-that-nobody-may-see-0123456789"
	m, c := scripted(script.Call("shell", `{"command":"echo $COLOR-$OPENAI_API_KEY-$MINE-$HOME"}`), script.Text("done"))
	c.Secrets = []string{key}
	a := open(t, agent.Config{
		Model: c, Permission: settle.Allow,
		Environ: []string{
			"PATH=" + os.Getenv("PATH"),
			"COLOR=blue",
			"OPENAI_API_KEY=sk-another-one-0123456789",
			"MINE=" + key,
			"HOME=/h",
			"SETTLE_PERMISSION=deny",
		},
	})
	if _, err := a.Run(t.Context(), "look"); err != nil {
		t.Fatal(err)
	}
	last := m.Requests()[1].Input
	if out := last[len(last)-1].Text; !strings.Contains(out, "blue---/h") {
		t.Errorf("the command saw %q", out)
	}
}

// The project's restrictions hold even if the program allows a call; permissions of the
// project have no effect.
func TestProjectsOnlyForbid(t *testing.T) {
	dir := t.TempDir()
	project := "[[rules]]\ntool = \"shell\"\npattern = \"touch *\"\ndecision = \"deny\"\n"
	if err := errors.Join(os.Mkdir(filepath.Join(dir, ".settle"), 0o700), os.WriteFile(filepath.Join(dir, ".settle", "config.toml"), []byte(project), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, ignore := range []bool{false, true} {
		_, c := scripted(script.Call("shell", `{"command":"touch x"}`), script.Text("done"))
		a := open(t, agent.Config{Model: c, Dir: dir, Permission: settle.Allow, IgnoreProject: ignore})
		o, err := a.Run(t.Context(), "touch it")
		if err != nil || len(o.Denied) == 0 != ignore {
			t.Errorf("ignored is %t: denied %+v, %v", ignore, o.Denied, err)
		}
	}
}

// Run interrupts the turn when its context ends, and returns how the turn ended.
func TestRunEndsWithItsContext(t *testing.T) {
	_, c := scripted(script.Turn(script.Text("Let me"), script.Stall()))
	a := open(t, agent.Config{Model: c})
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	go func() { // ends with the first text
		for e := range a.Events(ctx, 0) {
			if _, isText := e.Data.(event.ItemDelta); isText {
				cancel(enough)
			}
		}
	}()
	o, err := a.Run(ctx, "go")
	var cause *event.Cause
	if !errors.Is(err, enough) || !errors.As(err, &cause) || cause.Reason != event.Interrupted || o.Cause == nil ||
		o.Turn == "" {
		t.Errorf("%+v, %v", o, err)
	}
}

// A session is continued by its id.
func TestSessionsAreKept(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	for n, want := range []int{1, 2} {
		m, c := scripted(script.Text("yes"))
		a := open(t, agent.Config{Model: c, Dir: dir, DataDir: data, ID: "mine"})
		if _, err := a.Run(t.Context(), "hi"); err != nil {
			t.Fatal(err)
		}
		if got := len(a.State().Turns); got != want || len(m.Requests()[0].Input) != 2*n+1 {
			t.Errorf("%d turns, %d items", got, len(m.Requests()[0].Input))
		}
		if err := a.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := (settle.Store{Dir: data}).List(); err != nil || len(list) != 1 || list[0].ID != "mine" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestInvalidConfigurations(t *testing.T) {
	_, c := scripted()
	c.Name = "m"
	for name, tt := range map[string]struct {
		config agent.Config
		want   string
	}{
		"no model":        {agent.Config{}, "without a model"},
		"no directory":    {agent.Config{Model: c, Dir: "/nowhere/at/all"}, "not a directory"},
		"an unknown tool": {agent.Config{Model: c, Tools: []string{"hammer"}}, `no tool "hammer"`},
		"a wrong rule":    {agent.Config{Model: c, Rules: []agent.Rule{{Tool: "shell", Pattern: "ls", Decision: "maybe"}}}, "maybe"},
		"an unknown word": {agent.Config{Model: c, Permission: "maybe"}, "maybe"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := agent.New(t.Context(), tt.config)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want one with %q", err, tt.want)
			}
			if a != nil {
				_ = a.Close(t.Context())
			}
		})
	}
}
