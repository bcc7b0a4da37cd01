package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/modeltest"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/ask"
	"github.com/settle-agent/settle/tool/plan"
)

// doer is the tool of a process: it executes the plan in its argument.
type doer struct{ p *process }

// Spec implements [tool.Tool].
func (doer) Spec() tool.Spec { return doerSpec("do", "plan") }

func doerSpec(name, argument string) tool.Spec {
	return tool.Spec{
		Name:        name,
		Description: "Does what the plan says.",
		Schema: json.RawMessage(
			`{"type":"object","properties":{"` + argument + `":{"type":"string"}},"required":["` + argument + `"],"additionalProperties":false}`,
		),
	}
}

// known is the doer under the name of a tool that the families of models know in forms
// of their own, or free, as one that is called with free text.
type known struct {
	doer
	free bool
}

// deferred is the doer if the provider searches for it, or, found, its replacement for other
// models.
type deferred struct {
	known
	found bool
}

// Spec implements [tool.Tool].
func (d deferred) Spec() tool.Spec {
	spec := doerSpec("do", "plan")
	if spec.Deferred = "world"; d.found {
		spec = d.known.Spec()
		spec.Finder = true
	}
	return spec
}

// doers are the tools of a process.
func (w *world) doers(p *process) []tool.Tool {
	own := known{doer: doer{p}}
	switch {
	case p.planMode != nil:
		return []tool.Tool{doer{p}, plan.Propose(p.planMode)}
	case w.script.Families && w.script.Searches:
		return []tool.Tool{own, known{doer: doer{p}, free: true}, deferred{known: own}}
	case w.script.Families:
		return []tool.Tool{own, known{doer: doer{p}, free: true}}
	case w.script.Searches:
		return []tool.Tool{deferred{known: own}, deferred{known: own, found: true}}
	}
	return []tool.Tool{doer{p}}
}

const (
	knownName = "read"
	freeName  = "apply_patch"
)

// Spec implements [tool.Tool].
func (k known) Spec() tool.Spec {
	if !k.free {
		return doerSpec(knownName, "path")
	}
	spec := doerSpec(freeName, "input")
	spec.Grammar = `start: /(.|\n)+/`
	return spec
}

// familiar returns the call as a model writes it if families are played: in the words of a family,
// or as free text. Which is drawn by the plan; its own family need not have them.
func (p Plan) familiar() modeltest.Item {
	var item modeltest.Item
	say := func(name string, args map[string]any) {
		raw, _ := json.Marshal(args) // never fails
		item = modeltest.Call(name, string(raw))
	}
	switch plan := p.String(); crc32.ChecksumIEEE([]byte(plan)) % 5 {
	case 0:
		say(knownName, map[string]any{"path": plan})
	case 1:
		say("Read", map[string]any{"file_path": plan})
	case 2: // more output than the model receives, so that a file must keep it
		say("Read", map[string]any{"file_path": plan, "pages": "1"})
	case 3:
		say("read_file", map[string]any{"file_path": plan})
	default:
		say(freeName, map[string]any{"input": plan})
		item.Input = plan
	}
	return item
}

// planArguments are the arguments of a call of the doer.
func planArguments(p Plan) string {
	raw, _ := json.Marshal(map[string]string{"plan": p.String()}) // never fails
	return string(raw)
}

// Run implements [tool.Tool].
func (d doer) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	d.p.world.ran(d.p, c.ID)
	var args struct{ Plan, Path, Input string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tool.Result{}, err
	}
	steps, err := ParsePlan(args.Plan + args.Path + args.Input)
	if err != nil {
		return tool.Result{}, err
	}
	d.p.world.pass(inTool)
	var result tool.Result
	var out strings.Builder
	c.Progress = d.p.world.progress(c)
	for n, s := range steps {
		switch s.Kind {
		case Print:
			out.WriteString(s.Text)
			c.Progress(s.Text)
		case Flood:
			out.WriteString(strings.Repeat("flood\n", s.Bytes/6+1)[:s.Bytes])
		case Fail:
			return tool.Result{}, errors.New(s.Text)
		case Panic:
			panic("as planned")
		case Leave:
			id, err := d.job(ctx)
			if err != nil {
				return tool.Result{}, err
			}
			result.Jobs = append(result.Jobs, id)
		case Inquire:
			answer, err := d.inquire(ctx, c)
			if out.WriteString(answer.Output); err != nil || answer.Aborted {
				answer.Output = out.String()
				return answer, err
			}
		case Child, Await:
			if err := d.p.childAgents.spawn(ctx, c.ID, s.Kind == Child, s.For); err != nil {
				return tool.Result{}, err
			}
			if ctx.Err() != nil {
				result.Output, result.Aborted = out.String(), true
				return result, nil
			}
		case Remote, Slow, Back, Twice, HostDies, Unreachable:
			on, err := d.runRemote(ctx, c, fmt.Sprintf("%s/%d", c.ID, n), s, &result)
			if !on {
				result.Output = out.String() + result.Output
				return result, err
			}
		case Deaf:
			d.wait(context.WithoutCancel(ctx), s.For)
		case Take:
			if !d.wait(ctx, s.For) {
				result.Output, result.Aborted = out.String(), true
				return result, nil
			}
		}
	}
	d.p.world.pass(inTool)
	result.Output = out.String()
	return result, nil
}

// wait waits and reports whether nothing came in between.
func (d doer) wait(ctx context.Context, long time.Duration) bool {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-d.p.life.Done(): // it dies with its process
	}
	return false
}

// inquire asks the user, as a model's call of the tool does.
func (d doer) inquire(ctx context.Context, c tool.Call) (tool.Result, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(d.p.life, func() { end(context.Cause(d.p.life)) })() // it dies with its process
	return ask.Put(ctx, c.Ask, ask.Arguments{Questions: []event.Question{
		{Question: "Which " + Secret + "?", Options: []event.Choice{{Label: "one"}, {Label: "two"}}},
		{Question: "Why?"},
	}})
}

func (d doer) job(ctx context.Context) (string, error) {
	return session.Jobs{
		Log:    d.p.log,
		Redact: d.p.world.redactor,
	}.JobStarted(ctx, event.JobStarted{PID: 4242, Command: "serve " + Secret})
}
