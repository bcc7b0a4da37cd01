package assemble

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/plan"
)

// planned runs a turn in plan mode whose model writes, presents a plan and writes again. answers
// are given to the approvals, in order; a refused answer is followed by the next.
func planned(t *testing.T, p *Policy, answers ...settle.Answer) (*script.Model, event.State, string) {
	t.Helper()
	m := script.New(
		script.Turn(script.Call("write", `{"path":"early","content":"x"}`)),
		script.Turn(script.Call(plan.ProposeName, `{"plan":"# Write\n\n1. Write."}`)),
		script.Turn(script.Call("write", `{"path":"late","content":"x"}`)),
		script.Text("Done."),
	)
	var dir string
	env := map[string]string{"SETTLE_DATA_DIR": t.TempDir()}
	a := make1(t, resolve(t, "/", nil, env, ""), func(o *Options) {
		o.Model, o.Permission, o.Policy, o.Attended, dir = scripted(m), "", p, true, o.Dir
	})
	host, err := settle.Open(t.Context(), a.Host)
	if err != nil {
		t.Fatal(err)
	}
	s, err := host.Session(t.Context(), "", a.Session)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turn, err := s.Submit(ctx, "plan it")
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range s.Events(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Data.(event.ApprovalRequested); ok && d.Text != "" {
			for misfit := (*settle.MisfitError)(nil); ; {
				if len(answers) == 0 {
					t.Fatalf("an approval too many: %s", d.Text)
				}
				answer := answers[0]
				answers, answer.Approval, answer.By = answers[1:], d.Approval, "user"
				if err := s.Answer(ctx, answer); err == nil {
					break
				} else if !errors.As(err, &misfit) {
					t.Fatal(err)
				}
			}
		}
		if s.State().Turns[0].Cause != nil && e.Turn != "" && e.Item == "" {
			break
		}
	}
	if _, err := turn.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	state := s.State()
	if err := host.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m, state, dir
}

// last returns the output of the last call that the model received.
func last(r model.Request) string {
	for _, i := range slices.Backward(r.Input) {
		if i.Role == model.Output {
			return i.Text
		}
	}
	return ""
}

func TestAcceptedPlanBeginsTheWork(t *testing.T) {
	p := NewPlanPolicy(ModeOf(event.Ask))
	m, state, dir := planned(t, p,
		settle.Answer{Verdict: event.Denied, Permission: "allow"},  // only an approval chooses
		settle.Answer{Verdict: event.Approved, Permission: "deny"}, // no mode of work
		settle.Answer{Verdict: event.Denied, Explain: true},        // a plan is its own explanation
		settle.Answer{Verdict: event.Approved, Permission: "accept-edits"},
	)
	if _, err := os.Stat(filepath.Join(dir, "early")); !os.IsNotExist(err) {
		t.Error("plan mode changed a file:", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "late")); err != nil || p.Mode().Name != "accept-edits" {
		t.Error(err, p.Mode().Name)
	}
	approvals := state.Turns[0].Approvals
	end := approvals[len(approvals)-1].Ended
	if end == nil || end.Verdict != event.Approved || end.Permission != "accept-edits" {
		t.Errorf("the plan ended as %+v", end)
	}
	requests := m.Requests()
	for n, r := range requests { // C21: one list of tools
		if !slices.ContainsFunc(r.Tools, func(s model.ToolSpec) bool { return s.Name == plan.ProposeName }) {
			t.Errorf("request %d does not offer %s", n, plan.ProposeName)
		}
	}
	if got := last(requests[2]); !strings.Contains(got, "accepted the plan") {
		t.Errorf("the model received %q", got)
	}
}

func TestRefusedPlanKeepsPlanMode(t *testing.T) {
	for name, tt := range map[string]struct {
		answer settle.Answer
		want   string
	}{
		"changed":  {settle.Answer{Verdict: event.Denied, Message: "use two files"}, "use two files"},
		"rejected": {settle.Answer{Verdict: event.Denied}, "rejected the plan"},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPlanPolicy(ModeOf(event.Ask))
			m, _, dir := planned(t, p, tt.answer)
			if got := last(m.Requests()[2]); !strings.Contains(got, tt.want) || p.Mode().Name != "plan" {
				t.Errorf("mode %s, and the model received %q", p.Mode().Name, got)
			}
			if _, err := os.Stat(filepath.Join(dir, "late")); !os.IsNotExist(err) {
				t.Error("plan mode changed a file:", err)
			}
		})
	}
}

// A session that was never in plan mode does not offer the tool, and rules that allow have no
// effect in plan mode.
func TestPlanModeCostsNothingElsewhere(t *testing.T) {
	rule := config.Rule{Tool: "write", Decision: event.Allow}
	env := map[string]string{"SETTLE_DATA_DIR": t.TempDir()}
	for _, mode := range []Mode{ModeOf(event.Ask), PlanMode()} {
		p := NewPolicy(mode)
		a := make1(t, resolve(t, "/", nil, env, ""), func(o *Options) {
			o.Policy, o.Attended = p, true
			o.Settings.Rules = append(o.Settings.Rules, rule)
			o.Model = scripted(script.New(script.Text("Hello.")))
		})
		judge, err := a.Session.Judge()
		if err != nil {
			t.Fatal(err)
		}
		call := settle.Approval{Arguments: `{"path":"a","content":""}`}
		call.Tool.Name = "write"
		if got := judge.Judge(call).Decision; (got == event.Deny) != mode.Plan {
			t.Errorf("%s: a write that a rule allows is judged as %q", mode.Name, got)
		}
		call.Tool.Name = plan.ProposeName
		if got := judge.Judge(call).Decision; got != event.Ask {
			t.Errorf("%s: a plan is judged as %q", mode.Name, got)
		}
		kit, err := a.Session.Toolbox(settle.SessionInfo{ID: "s"})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(kit.Tools, func(x tool.Tool) bool { return x.Spec().Name == plan.ProposeName })
		if offered := kit.Tools[at].(interface{ Offered() bool }).Offered(); offered != mode.Plan {
			t.Errorf("%s: offered %v", mode.Name, offered)
		}
		if err := kit.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestWorkIsWithinTheCeiling(t *testing.T) {
	p := NewPlanPolicy(ModeOf(event.Allow))
	if m, err := p.Begin("allow", event.Ask); err != nil || m.Name != "ask" {
		t.Errorf("the work began in %q: %v", m.Name, err)
	}
	p.Set(PlanMode())
	for _, m := range Modes() { // read-only has rules and approvals that allow
		if err := p.Tighten(m); (err == nil) != m.Plan || !p.Mode().Plan {
			t.Errorf("a client that can only tighten left plan mode for %s: %v", m.Name, err)
		}
	}
}

// A host whose permission never changes informs the model that plan mode is off, once, if the log
// ended in plan mode.
func TestFixedPermissionEndsPlanMode(t *testing.T) {
	env := map[string]string{"SETTLE_DATA_DIR": t.TempDir()}
	r := resolve(t, "/", nil, env, "")
	work := func(p *Policy, prompts ...string) (notes []string) {
		t.Helper()
		m := script.New().Otherwise(script.Text("done"))
		a := make1(t, r, func(o *Options) { o.Model, o.Permission, o.Policy = scripted(m), event.Allow, p })
		host, err := settle.Open(t.Context(), a.Host)
		if err != nil {
			t.Fatal(err)
		}
		s, err := host.Session(t.Context(), "s", a.Session)
		if err != nil {
			t.Fatal(err)
		}
		for _, prompt := range prompts {
			if _, err := s.Run(t.Context(), prompt); err != nil {
				t.Fatal(err)
			}
		}
		notes = reminders(s.State())
		if err := host.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		return notes
	}
	on := work(NewPlanPolicy(ModeOf(event.Ask)), "plan it")
	if !slices.Equal(on, []string{planAlone}) || !PlanModeIn(env["SETTLE_DATA_DIR"], "s") {
		t.Fatalf("the plan: %q", on)
	}
	if got := work(nil, "carry out the plan", "and more"); !slices.Equal(got, []string{planAlone, planOff}) {
		t.Errorf("the work: %q", got)
	}
	if PlanModeIn(env["SETTLE_DATA_DIR"], "s") {
		t.Error("the session is still in plan mode")
	}
}

// reminders returns the reminders of plan mode in the log.
func reminders(s event.State) (out []string) {
	for _, turn := range s.Turns {
		for _, i := range turn.Items {
			if text := i.Content().Text; text == planOn || text == planAlone || text == planOff {
				out = append(out, text)
			}
		}
	}
	return out
}

// A compaction removes the reminder from the model's input, so that it is given again, also in the
// turn in which the history is compacted, and by another host.
func TestCompactionRepeatsPlanModeReminder(t *testing.T) {
	s := event.State{Turns: []*event.Turn{{}}}
	due := func(p *planning) string { return p.remind(s) }
	compact := func() {
		turn := s.Turns[len(s.Turns)-1]
		turn.Changes = append(turn.Changes, event.Epoch{
			HistoryChanged: event.HistoryChanged{Change: event.ChangeCompacted}, Attempts: len(turn.Attempts),
		})
	}
	p := &planning{policy: NewPlanPolicy(ModeOf(event.Ask)), person: true}
	if got := due(p); got != planOn {
		t.Errorf("at first %q", got)
	}
	for range 2 {
		if got := due(p); got != "" {
			t.Errorf("again %q", got)
		}
		compact()
		if got := due(p); got != planOn {
			t.Errorf("after a compaction %q", got)
		}
		s.Turns = append(s.Turns, &event.Turn{})
	}
	p.policy.Set(ModeOf(event.Ask))
	compact()
	for _, want := range []string{planOff, ""} {
		if got := due(p); got != want {
			t.Errorf("after plan mode %q, want %q", got, want)
		}
		compact()
	}
}

// The model learns the permission of the work in settle's words, also if a client names its modes.
func TestAcceptedPlanNamesPermission(t *testing.T) {
	for want, m := range map[string]Mode{
		"read-only": {Name: "dontAsk 2", Permission: event.Deny}, "accept edits": Modes()[1],
		"ask": {Name: "default 1", Permission: event.Ask},
	} {
		p := &planning{policy: NewPlanPolicy(m)}
		if got, err := p.Accept(""); err != nil || got != want {
			t.Errorf("%s: %q, %v", m.Name, got, err)
		}
	}
}

// A copy of a session in plan mode begins the work as its source does, unless that is looser than
// the user's configuration.
func TestCopyBeginsWorkAsItsSource(t *testing.T) {
	for _, tt := range []struct{ configured, work, want event.Permission }{
		{event.Allow, event.Ask, event.Ask}, {event.Ask, event.Allow, event.Ask}, {event.Deny, event.Ask, event.Deny},
	} {
		source := NewPlanPolicy(ModeOf(tt.work))
		for n, p := range []*Policy{CopiedPolicy(ModeOf(tt.configured), source), source.Copy()} {
			want := []event.Permission{tt.want, tt.work}[n]
			if m, err := p.Begin("", ""); err != nil || !source.Mode().Plan || m.Permission != want {
				t.Errorf("configured %s, work %s: %s, %v", tt.configured, tt.work, m.Name, err)
			}
		}
	}
}

// A child agent gets no worktree in plan mode: it would add a branch to the repository.
func TestPlanModeMakesNoWorktrees(t *testing.T) {
	p := NewPlanPolicy(ModeOf(event.Ask))
	a := make1(t, resolve(t, "/", nil, map[string]string{"SETTLE_DATA_DIR": t.TempDir()}, ""), func(o *Options) {
		o.Policy, o.Attended, o.Model = p, true, scripted(script.New())
	})
	for _, on := range []bool{true, false} {
		_, err := a.Session.Tasks.Worktrees.Plan(t.Context(), t.TempDir(), "child")
		if (err != nil && strings.Contains(err.Error(), "plan mode")) != on {
			t.Errorf("plan mode %v: %v", on, err)
		}
		p.Set(ModeOf(event.Ask))
	}
}
