package proof

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/tool"
)

// doer is the tool of a process: it does what the plan in its argument says.
type doer struct{ p *process }

// Spec implements [tool.Tool].
func (doer) Spec() tool.Spec {
	return tool.Spec{
		Name: "do", Description: "Does what the plan says.",
		Schema: json.RawMessage(`{"type":"object","properties":{"plan":{"type":"string"}},"required":["plan"],"additionalProperties":false}`),
	}
}

// planArguments are the arguments of a call of the doer.
func planArguments(p Plan) string {
	raw, _ := json.Marshal(map[string]string{"plan": p.String()}) // never fails
	return string(raw)
}

// Run implements [tool.Tool].
func (d doer) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	d.p.world.ran(d.p, c.ID)
	var args struct{ Plan string }
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return tool.Result{}, err
	}
	plan, err := ParsePlan(args.Plan)
	if err != nil {
		return tool.Result{}, err
	}
	var result tool.Result
	var out strings.Builder
	for _, s := range plan {
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
		case Child, Await:
			if err := d.p.kin.spawn(ctx, c.ID, s.Kind == Child, s.For); err != nil {
				return tool.Result{}, err
			}
			if ctx.Err() != nil {
				result.Output, result.Aborted = out.String(), true
				return result, nil
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

func (d doer) job(ctx context.Context) (string, error) {
	return session.Jobs{Log: d.p.log, Redact: d.p.world.redactor}.JobStarted(ctx, event.JobStarted{PID: 4242, Command: "serve " + Secret})
}
