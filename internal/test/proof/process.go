package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/run"
	"github.com/settle-agent/settle/tool"
)

// process is one host of the session, from when it opens it until it has
// closed it or is killed.
type process struct {
	world       *world
	mount       *mount
	log         *journal.Log
	session     *session.Session
	approvals   *session.Approvals
	childAgents *childAgents
	reach       *reach
	planMode    *planMode // nil unless the script begins in plan mode

	// life ends when the process is killed, with everything that it runs.
	life context.Context // it is the process's own
	end  context.CancelFunc
	// succeeded is closed when next is set: the process that opened the
	// session after this one, or nil if none did.
	succeeded chan struct{}
	next      *process
}

// setting configures a process.
type setting struct {
	wire    Wire
	limits  Limits
	window  int
	compact turn.Compaction
	ask     bool
	hooks   int
	crashAt int
}

// start opens the session on the disk as a new process does (C20).
func (w *world) start(d *disk, set setting) (*process, error) {
	m, err := newMount(d, set.crashAt, w.broke)
	if err != nil {
		return nil, fmt.Errorf("the log cannot be opened: %w", err)
	}
	state := event.State{Session: "s"}
	for e, err := range m.Read(context.Background(), 0) {
		if err == nil {
			state, err = event.Fold(state, e)
		}
		if err != nil {
			return nil, fmt.Errorf("the log cannot be read: %w", err)
		}
	}
	p := &process{world: w, mount: m, succeeded: make(chan struct{})}
	p.childAgents, p.reach = &childAgents{p: p}, newReach()
	p.life, p.end = context.WithCancel(w.life)
	p.log = journal.New(p.mount, state, journal.WithClock(w.now))
	if w.script.Plan {
		p.planMode = newPlanMode(state, set.ask)
	}
	doers := w.doers(p)
	tools, err := tool.NewSet(doers...)
	if err != nil {
		return nil, err
	}
	if set.ask {
		p.approvals = session.NewApprovals(p.log, asks{p}, w.redactor)
	}
	made := p.turn(set, tools)
	if made.Hooks = p.hooked(set.hooks); p.approvals != nil {
		p.approvals.WithHooks(made.Hooks)
		if r := w.reviewer(set.hooks); r != nil {
			p.approvals.WithReviewer(r)
		}
	}
	p.session, err = session.Open(session.Config{
		Log: p.log, Approvals: p.approvals, Opened: event.SessionOpened{Dir: "/work", Frontend: "proof"},
		Turn: made, ChildAgents: p.childAgents, Ended: func(event.State) { w.pass(inCallback) },
	})
	if err != nil {
		p.end()
		_ = p.log.Close(context.Background()) // err has more details
		return p, err
	}
	return p, nil
}

// model returns the model behind the wire, whose requests are witnessed.
func (p *process) model(set setting, wire Wire, name string) model.Config {
	m := wire.Model(p.world.server.Client(), name, set.window, set.limits.Stall)
	m.ToolSearch = p.world.script.Searches && wire.searches()
	if p.world.script.Families {
		m.Family = wire.family()
	}
	seen := witness{
		m.Provider, p,
		history.Target{Provider: m.ProviderName, Model: m.Name, Traits: m.Traits},
		p.world.script.system(),
	}
	if m.Provider = seen; p.world.bomb != nil {
		m.Provider = panicking{seen, p.world}
	}
	return m
}

func (p *process) turn(set setting, tools *tool.Set) turn.Config {
	modelConfig, system := p.model(set, set.wire, p.world.script.model()), p.world.script.system()
	if wire := p.world.script.Fallback; wire != "" && wire != set.wire { // the server knows one model of a wire
		fallback := p.model(set, wire, modelConfig.Name)
		modelConfig.Fallback = &fallback
	}
	c := turn.Config{
		Requests: turn.Requests{Model: modelConfig, System: system, Compaction: set.compact},
		Execution: turn.Execution{Tools: tools, Dir: "/work", Command: func(plan string) (string, json.RawMessage) {
			p.world.pass(inCommand)
			raw, _ := json.Marshal(map[string]string{"plan": plan}) // never fails
			if p.world.script.Families {
				raw, _ = json.Marshal(map[string]string{"path": plan}) // never fails
				return knownName, raw
			}
			return "do", raw
		}},
		Bounds: turn.Bounds{
			Limits:         run.Limits{Steps: set.limits.Steps, Time: set.limits.Time, Repeats: set.limits.Repeats},
			InterruptGrace: set.limits.Grace,
		},
		Redact: p.world.redactor,
	}
	if set.limits.Retried {
		c.Retry.Retries = &set.limits.Retries
	}
	if p.approvals != nil {
		c.Approver, c.Filler = p.approvals, p.approvals
	}
	if p.planMode != nil {
		c.Reminder = p.planMode.remind
	}
	return p.world.observed(c)
}

// system is the system prompt.
func (s Script) system() string {
	if s.Caches == "" {
		return "Prove it."
	}
	return "Prove it." + strings.Repeat(" Do what you were asked for, and say what you have done.", 600)
}

// asks has every call asked about, unless the process is in plan mode.
type asks struct{ process *process }

// Places implements [session.Judge].
func (asks) Places(approval.Call) []event.ResolvedPath { return nil }

func (a asks) Judge(call approval.Call) approval.Judgement {
	a.process.world.pass(inJudge)
	if m := a.process.planMode; m != nil {
		return m.judge(call)
	}
	return askAlways
}

var askAlways = approval.Judgement{
	Decision: event.Ask, Rule: "ask", Why: "every call is asked about: " + Secret, Review: true,
}

// Remember implements [session.Judge]; it asks again all the same.
func (asks) Remember(approval.Call) {}

// close closes the session as a host does, and returns the error of that. Slow
// subscribers continue to read.
func (p *process) close() error {
	defer p.leave()
	return p.session.Close(context.Background(), event.Shutdown, "host")
}

// bury removes the rest of a killed process. The session does not notice its death, and
// ends as after a failure of its disk; none of that is written, or reaches a subscriber.
func (p *process) bury() {
	p.end()
	_ = p.session.Close(context.Background(), event.Shutdown, "host") // a killed process has no caller
	p.leave()
}

// succeed names the process that opened the session next, or nil.
func (p *process) succeed(next *process) {
	p.next = next
	close(p.succeeded)
}

// dead reports whether the process was killed.
func (p *process) dead() bool { return p.mount.is(killed) }
