package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/run"
)

// hooked returns the hooks of a process. Their answers follow from the script's seed and
// their number only.
func (p *process) hooked(seed int) *hooks.Set {
	if seed == 0 {
		return nil
	}
	c := hooks.Config{
		Log:    p.log,
		Dir:    "/work",
		Redact: p.world.redactor,
		Runner: &doubtful{p: p, draw: rand.New(rand.NewPCG(uint64(seed), 2))},
	} // it is to be the same again
	for n, e := range event.HookEvents() {
		c.Hooks = append(
			c.Hooks, run.Hook{Event: e, Command: "first " + Secret, Timeout: 20 * time.Second, Own: n%2 == 0},
		)
		if e.IsBlocking() {
			c.Hooks = append(c.Hooks, run.Hook{Event: e, Command: "second", Own: true})
		}
	}
	return hooks.New(c)
}

// doubtful is a Runner of hooks that are correct most of the time.
type doubtful struct {
	p *process

	mu   sync.Mutex // guards draw
	draw *rand.Rand
}

// errNoStart is the error of a command that did not start.
var errNoStart = errors.New("there is no such program: " + Secret)

// Run implements [hooks.Runner].
func (d *doubtful) Run(ctx context.Context, c hooks.Command) (hooks.Result, error) {
	d.p.world.pass(inHook)
	var in struct {
		Event string `json:"hook_event_name"`
	}
	if err := json.Unmarshal(c.Stdin, &in); err != nil {
		return hooks.Result{}, err
	}
	d.mu.Lock()
	n := d.draw.IntN(40)
	d.mu.Unlock()
	say := func(format string, args ...any) (hooks.Result, error) {
		return hooks.Result{Stdout: fmt.Appendf(nil, format, args...)}, nil
	}
	specific := func(members string) (hooks.Result, error) {
		return say(`{"hookSpecificOutput":{"hookEventName":%q,%s}}`, in.Event, members)
	}
	switch n {
	case 0:
		return hooks.Result{Code: 1, Stderr: []byte("it crashed: " + Secret)}, nil
	case 1:
		return hooks.Result{Code: 2, Stderr: []byte("no: " + Secret)}, nil
	case 2:
		return say("{ garbage")
	case 3:
		return hooks.Result{Truncated: true, Stdout: []byte("aaa")}, nil
	case 4:
		return hooks.Result{}, errNoStart
	case 5:
		return hooks.Result{Lost: true}, nil
	case 6: // it hangs
		d.wait(ctx, time.Hour)
		return hooks.Result{}, context.Cause(ctx)
	case 7: // and does not end
		d.wait(context.WithoutCancel(ctx), time.Hour)
		return hooks.Result{}, nil
	case 8:
		panic("as planned")
	case 9, 10:
		return specific(`"permissionDecision":"allow"`)
	case 11:
		return specific(`"permissionDecision":"ask"`)
	case 12, 13, 14:
		raw := planArguments(Plan{{Kind: Print, Text: "changed"}})
		return specific(`"updatedInput":` + raw)
	case 15, 16:
		return specific(`"additionalContext":"` + Secret + ` is the branch"`)
	case 17:
		return say(`{"continue":false,"stopReason":"enough"}`)
	case 18, 19, 20:
		d.wait(ctx, 3*time.Second)
	case 21:
		return say("plain text")
	case 22:
		return say(`{"decision":"block","reason":"go on","systemMessage":"it blocks"}`)
	}
	return hooks.Result{}, nil
}

func (d *doubtful) wait(ctx context.Context, long time.Duration) { _ = doer{d.p}.wait(ctx, long) }
