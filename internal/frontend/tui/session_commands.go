package tui

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/tool/plan"
)

// initAgents sends the prompt of /init, an ordinary turn.
func (u *UI) initAgents(words string) { u.deliverBuiltIn("init", words) }

// review sends the prompt of /review, an ordinary turn.
func (u *UI) review(what string) { u.deliverBuiltIn("review", what) }

func (u *UI) deliverBuiltIn(name, argument string) {
	text, err := commands.BuiltInNamed(name, argument)
	if err != nil {
		u.showHint("%v", err)
		return
	}
	typed := partsOf("/" + strings.TrimSpace(name+" "+argument))
	u.deliverIf(nil, partsOf(text), event.Queue, typed)
}

// showTodos shows the model's latest plan.
func (u *UI) showTodos(string) {
	s := u.state()
	p, ok := latestPlan(s.Turns, s.Host.Dir)
	if !ok {
		u.showHint("the model has made no plan in this session")
		return
	}
	u.openPager("Plan", func(width int) []terminal.Line {
		return append([]terminal.Line{terminal.Plain(p.Title(), bold())}, planRows(p)(width)...)
	})
}

// latestPlan returns the plan that the calls of the turns made last.
func latestPlan(turns []*event.Turn, dir string) (p plan.Arguments, ok bool) {
	for _, t := range slices.Backward(turns) {
		for _, i := range slices.Backward(t.Items) {
			if i.Type() == event.ToolCall && i.Status == event.ItemCompleted {
				if call := transcript.CallOf(i, dir); call.Kind == toolview.Plan {
					return call.Plan, true
				}
			}
		}
	}
	return p, false
}

// maxPlan bounds the rows of the plan above the editor.
const maxPlan = 6

// planRows shows the plan that a call of the running turn made: the step in progress and its
// neighbours. A plan that is done is one row, until the turn ends. While a question waits, the plan
// is not shown: its rows could be mistaken for the subject of the question.
func (u *UI) planRows(width, limit int) (rows []terminal.Line) {
	p := u.view.printout.plan
	question, _ := u.pendingApproval()
	if question != nil || len(p.Plan) == 0 || u.state().Running() == nil || limit < 1 {
		return nil
	}
	rows = []terminal.Line{terminal.Clip(terminal.Plain(p.Title(), bold()), width)}
	at, done := 0, 0
	for n, s := range p.Plan {
		if s.Status == plan.Completed {
			done++
			at = min(n+1, len(p.Plan)-1)
		}
	}
	if room := limit - 1; done < len(p.Plan) && room > 0 {
		from := min(max(at-room/2, 0), max(len(p.Plan)-room, 0))
		for _, s := range p.Plan[from:min(from+room, len(p.Plan))] {
			text := "  " + s.Mark() + " " + terminal.OneLine(s.Step)
			rows = append(rows, terminal.Clip(terminal.Plain(text, stepStyle(s)), width))
		}
	}
	return rows
}

// listAgents shows the child agents of the session.
func (u *UI) listAgents(string) {
	var lines []string
	for _, c := range u.state().Children {
		how := "works since " + c.At.Local().Format(time.TimeOnly)
		if c.Ended != nil {
			elapsed := c.EndedAt.Sub(c.At)
			if ms := c.Ended.ElapsedMS; ms > 0 { // without the time in which no host had the session
				elapsed = time.Duration(ms) * time.Millisecond
			}
			how = c.Ended.Words() + " after " + span(elapsed)
		}
		where := "in its call"
		if c.Background() {
			where = "in the background"
		}
		lines = append(lines, fmt.Sprintf("%s  %s, %s: %s", c.Child, how, where, terminal.OneLine(c.Title)))
		if c.Worktree != nil {
			lines = append(lines, "    worktree "+c.Worktree.Path)
		}
		lines = append(lines, "    session "+c.Session)
	}
	if kinds := u.agentKinds(); len(kinds) > 0 {
		if len(lines) == 0 {
			lines = []string{"this session has started no child agents"}
		}
		lines = append(append(lines, ""), kinds...)
	}
	if len(lines) == 0 {
		u.showHint("this session has started no child agents")
		return
	}
	u.lines("Agents", lines)
}

// listPlugins shows the user's plugins.
func (u *UI) listPlugins(string) {
	if u.Plugins == nil {
		u.showHint("not available here")
		return
	}
	u.report("Plugins", nil, func(_ context.Context, to io.Writer) {
		var out strings.Builder
		if u.Plugins(&out); out.Len() == 0 {
			out.WriteString("you have added no plugins; settle plugins add SOURCE adds one")
		}
		_, _ = io.WriteString(to, terminal.Text(out.String())) // memory
	})
}

// agentKinds returns the kinds of child agents that files define.
func (u *UI) agentKinds() []string {
	if u.AgentKinds == nil {
		return nil
	}
	var out strings.Builder
	u.AgentKinds(&out)
	if out.Len() == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(terminal.Text(out.String()), "\n"), "\n")
}

// showStatus shows the session, the configuration, and the findings of the doctor.
func (u *UI) showStatus(string) {
	lines := u.statusLines()
	if u.Doctor == nil {
		u.lines("Status", lines)
		return
	}
	u.report("Status", append(lines, "", "Installation"), func(ctx context.Context, to io.Writer) {
		u.Doctor(ctx, to)
		var inUse strings.Builder
		if u.InUse != nil {
			u.InUse(&inUse)
		}
		if inUse.Len() > 0 {
			fmt.Fprint(to, "\nInstructions, hooks, skills and commands\n", inUse.String())
		}
		if u.Settings != nil {
			fmt.Fprintln(to, "\nSettings and where they come from")
			u.Settings(to)
		}
	})
}

// statusLines describes the session.
func (u *UI) statusLines() []string {
	c, s := u.view.conversation, u.state()
	lines := []string{"Session"}
	add := func(name, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("  %-11s", name)+terminal.OneLine(fmt.Sprintf(format, args...)))
	}
	add("id", "%s", c.ID())
	add("directory", "%s", s.Host.Dir)
	if host := elsewhere(c, u.view.lost); host != "" {
		add("host", "%s", host)
	}
	model := c.Model()
	if effort := c.Effort(); effort != "" {
		model += ", " + effort + " effort"
	}
	add("model", "%s", model)
	used := terminal.Tokens(u.used()) + " tokens"
	if window := c.Window(); window > 0 {
		used += fmt.Sprintf(" of %s", terminal.Tokens(int64(window)))
	}
	add("context", "%s", used)
	add("permission", "%s", u.describeMode(c.Mode()))
	add("turns", "%d", len(s.Turns))
	if spent := transcript.Spent(transcript.Total(s)); len(spent) > 0 {
		add("spent", "%s", strings.Join(spent, " · "))
	}
	agents := 0
	for _, child := range s.Children {
		if child.Ended == nil {
			agents++
		}
	}
	add("running", "%s, %s", terminal.Count(u.jobs(), "job"), terminal.Count(agents, "child agent"))
	add("waiting", "%s", terminal.Count(len(s.Waiting), "input"))
	if p, ok := latestPlan(s.Turns, s.Host.Dir); ok {
		add("plan", "%s", p.Title())
	}
	return lines
}

// openTranscript shows the whole session.
func (u *UI) openTranscript(string) {
	u.openPager("Transcript", transcriptSheet(u.view.printout.renderer, u.state())...)
}

// efforts returns the reasoning efforts, from the lowest.
func efforts() []string { return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} }

// stepEffort has the model think more or less. From the model's own effort, it steps from medium.
func (u *UI) stepEffort(step int) {
	at := slices.Index(efforts(), cmp.Or(u.view.conversation.Effort(), "medium")) + step
	u.effort(efforts()[min(max(at, 0), len(efforts())-1)])
}
