package tui

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/plan"
)

func planCall(first, second plan.Status) script.Step {
	return script.Call("plan", `{"plan":[{"step":"Look.","status":"`+string(first)+`"},{"step":"Mend.","status":"`+
		string(second)+`"}]}`)
}

// The plan is above the editor while the turn that made it works: one row when it is done, and none
// while a question waits or in a later turn. The commands about the session show its data.
func TestPlanAndSessionCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script.New(
			script.Turn(planCall(plan.InProgress, plan.Pending)),
			script.Turn(script.Call("shell", `{"command":"look"}`)),
			script.Turn(script.Delay(5*time.Second), script.Text("Looked.")),
			script.Turn(script.Delay(5*time.Second), script.Text("And?")),
			script.Turn(planCall(plan.Completed, plan.Completed)),
			script.Turn(script.Delay(5*time.Second), script.Text("done")),
		)
		p, code := newPersonOf(t, Options{}, settle.SessionConfig{
			Model:   model.Config{Provider: m, ProviderName: "script", Name: "m"},
			WorkDir: "/w", Permission: settle.Ask, Attended: true, Tools: []tool.Tool{echoShell{}, plan.New()},
		})
		above := func() string { // the rows after the last call
			rows := strings.Join(p.tty.rows(), "\n")
			return rows[strings.LastIndex(rows, "✓ "):]
		}
		p.types("/agents\r")
		p.sees("this session has started no child agents")
		p.types("/todos\r")
		p.sees("the model has made no plan in this session")
		p.types("/agnets\r")
		p.sees(`did you mean "/agents"?`)
		p.types("\x03go\r")
		if got := above(); strings.Count(got, "Mend.") != 1 {
			t.Errorf("the plan is shown again beside a question:\n%s", got)
		}
		p.types("y")
		if got := above(); !strings.Contains(got, "plan, 0 of 2 done: Look.\n  ▸ Look.\n  ☐ Mend.") {
			t.Errorf("the plan is not above the editor:\n%s", got)
		}
		time.Sleep(5 * time.Second)
		p.types("again\r")
		if got := above(); strings.Contains(got, "Mend.") || !strings.Contains(got, "working") {
			t.Errorf("the plan of an earlier turn is shown:\n%s", got)
		}
		time.Sleep(5 * time.Second)
		p.types("go on\r")
		if got := above(); strings.Count(got, "Mend.") != 1 || !strings.Contains(got, "\nplan, 2 of 2 done\n") {
			t.Errorf("the plan that is done is shown:\n%s", got)
		}
		time.Sleep(5 * time.Second)
		m.Add(script.Text("reviewed"), script.Text("written"))
		p.types("/review main..HEAD\r")
		if got := sent(m); !strings.Contains(got, "Review main..HEAD. Look at the diff first") {
			t.Errorf("the model received %s", got)
		}
		p.types("/init\r")
		if got := sent(m); !strings.Contains(got, "Write AGENTS.md for this repository") {
			t.Errorf("the model received %s", got)
		}
		p.types("\x04")
		p.left(code, 0)
	})
}

// The commands about the session show it in the pager.
func TestSessionScreens(t *testing.T) {
	s := newStage(nil, terminal.ReflowAll, 80, 40)
	s.take(askedEdit(t, 3, nil)[:7])
	for command, want := range map[string][]string{
		"status": {"  directory  /w", "  model      chat/m", "  permission asks before changes", "  running    0 jobs, 0 child agents"},
		"help":   {"/todos", "/review [WHAT]"},
	} {
		s.overlay.pager = nil
		s.command(command, "")
		var rows []string
		for n := range s.overlay.pager.sheet {
			for _, row := range s.overlay.pager.sheet[n](80) {
				rows = append(rows, row.Text())
			}
		}
		for _, part := range want {
			if all := strings.Join(rows, "\n"); !strings.Contains(all, part) {
				t.Errorf("/%s does not show %q:\n%s", command, part, all)
			}
		}
	}
}

// A compaction that finds nothing to do says so in the row of its turn.
func TestEmptyCompactionSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(t, Options{})
		p.types("/compact\r")
		p.types("a")
		p.sees("✓ there was nothing to compact")
		p.types("\x03\x04")
		p.left(code, 0)
	})
}
