package task

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/tool"
)

// Tools returns the tools task, check_task, message_task and cancel_task. A call of task can
// choose one of the kinds.
func Tools(s Spawner, kinds ...Kind) []tool.Tool {
	t := tools{s, kinds}
	return []tool.Tool{
		tool.Must(
			tool.New(
				Name,
				"Start an agent, which works on a task in its own session and returns its answer: for work that would fill your context "+
					"or, with several calls in one response, for parallel parts. It has your permissions, and ends if your turn is interrupted.",
				t.start,
				schema(kinds),
				tool.WithTimeout(callTimeout),
				tool.ReadOnly(),
				tool.WithTitle(Arguments.title),
			),
		),
		tool.Must(tool.New(NameCheck,
			"Show the state of your agents; with wait_ms, first wait for one to end.",
			t.check, checkSchema(), tool.WithTimeout(callTimeout), tool.ReadOnly(), titled(verbCheck))),
		tool.Must(tool.New(NameMessage, "Send a background agent a message, which it reads before its next step.",
			t.message, messageSchema(), tool.ReadOnly(), titled(verbMessage))),
		tool.Must(tool.New(NameCancel, "End a background agent. Returns its last state.",
			t.cancel, cancelSchema(), tool.ReadOnly(), titled(verbCancel))),
	}
}

// tools are the functions of the tools.
type tools struct {
	spawner Spawner
	kinds   []Kind
}

// callTimeout bounds a call that waits for a child. The child has its own, shorter limit.
const callTimeout = 25 * time.Hour

func titled(verb string) tool.Option {
	return tool.WithTitle(func(r reference) string { return r.title(verb) })
}

func (r reference) title(verb string) string { return strings.TrimSpace(verb + r.Task) }

// title names the kind of agent, or the tool, and the agent's task.
func (a Arguments) title() string {
	if a.Description == "" && a.Agent == "" {
		return Name
	}
	return strings.TrimSuffix(cmp.Or(a.Agent, Name)+": "+a.Description, ": ")
}

// Title describes a call of one of the tools in one line, from its arguments; "" for another tool's
// call, and for arguments that are no JSON object.
func Title(name string, arguments []byte) string {
	var a Arguments
	var r reference
	if json.Unmarshal(arguments, &a) != nil || json.Unmarshal(arguments, &r) != nil {
		return ""
	}
	switch name {
	case Name:
		return a.title()
	case NameCheck:
		return r.title(verbCheck)
	case NameMessage:
		return r.title(verbMessage)
	case NameCancel:
		return r.title(verbCancel)
	}
	return ""
}

// The beginnings of titles; the task follows.
const (
	verbCheck   = "check task "
	verbMessage = "message to task "
	verbCancel  = "cancel task "
)

func (t tools) start(ctx context.Context, a Arguments) (tool.Result, error) {
	call, _ := tool.CallFrom(ctx)
	if strings.TrimSpace(a.Prompt) == "" {
		return tool.Result{}, errors.New("cannot start an agent without a prompt")
	}
	order, err := t.order(call, a)
	if err != nil {
		return tool.Result{}, err
	}
	child, err := t.spawner.Spawn(ctx, order)
	if err != nil {
		return tool.Result{}, err
	}
	if order.Background {
		s := child.Status()
		return tool.Result{
			Output: fmt.Sprintf(
				"[%s works in the background, in session %s%s. You receive its result when it ends; check_task shows its state.]",
				name(s.ChildStarted),
				s.Session,
				place(s.ChildStarted),
			),
			Detail: detail(s),
		}, nil
	}
	if !ends(ctx, child) {
		return tool.Result{Aborted: true}, nil // its end is recorded with the turn's end
	}
	s := child.Status()
	return tool.Result{
		Output: Report(s.ChildStarted, *s.Ended), Failed: s.Ended.Outcome != event.Completed,
		Aborted: ctx.Err() != nil, Detail: detail(s),
	}, nil
}

// order returns the order of a call, from its arguments and from the definition of its kind.
func (t tools) order(call tool.Call, a Arguments) (Order, error) {
	o := Order{
		Call: call.ID, Title: oneLine(a.Description), Prompt: a.Prompt, Model: a.Model, Tools: a.Tools,
		Background: a.Background, Worktree: a.Worktree,
		Steps: a.MaxSteps, Time: time.Duration(a.TimeoutMS) * time.Millisecond,
	}
	kind, err := find(t.kinds, a.Agent)
	if err != nil || kind == nil {
		return o, err
	}
	o.Kind, o.Title = kind, oneLine(kind.Name()+": "+a.Description)
	o.Background, o.Worktree = o.Background || kind.Background, o.Worktree || kind.Worktree
	if o.Model == "" {
		o.Model = kind.Model
	}
	return o, nil
}

// stuckTimeout bounds the wait for a cancelled child; the turn has abandoned the call by
// then.
const stuckTimeout = 5 * time.Second

// ends waits for the child's end, which its own limits cause, or the end of ctx, which
// cancels the child. It reports whether the child has ended.
func ends(ctx context.Context, child Child) bool {
	select {
	case <-child.Done():
		return true
	case <-ctx.Done():
	}
	stuck := time.NewTimer(stuckTimeout)
	defer stuck.Stop()
	select {
	case <-child.Done():
		return true
	case <-stuck.C:
		return false
	}
}

// Detail is the detail of a call of task for frontends.
type Detail struct {
	Child   string `json:"child"`
	Session string `json:"session"`
}

func detail(s Status) json.RawMessage {
	raw, _ := json.Marshal(Detail{s.Child, s.Session}) // never fails
	return raw
}

func (t tools) check(ctx context.Context, r reference) (tool.Result, error) {
	children := t.spawner.Children()
	if r.Task != "" {
		c, err := childOf(children, r.Task)
		if err != nil {
			return tool.Result{}, err
		}
		children = []Child{c}
	}
	if r.WaitMS > 0 {
		bounded, cancel := context.WithTimeout(ctx, time.Duration(r.WaitMS)*time.Millisecond)
		defer cancel()
		await(bounded, children)
	}
	if len(children) == 0 {
		return tool.Result{Output: "[no agents]"}, nil
	}
	var lines []string
	for _, c := range children {
		lines = append(lines, Line(c.Status(), time.Now()))
	}
	return tool.Result{Output: strings.Join(lines, "\n"), Aborted: ctx.Err() != nil}, nil
}

// await waits until one of the running children has ended, or ctx.
func await(ctx context.Context, children []Child) {
	ended := make(chan struct{}, len(children))
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	running := 0
	for _, c := range children {
		if c.Status().Ended != nil {
			continue
		}
		running++
		wg.Go(func() { // ends with the child, or with await
			select {
			case <-c.Done():
				ended <- struct{}{} // never blocks: room for all
			case <-ctx.Done():
			}
		})
	}
	if running == 0 {
		return
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

func (t tools) message(ctx context.Context, r reference) (tool.Result, error) {
	c, err := childOf(t.spawner.Children(), r.Task)
	if err != nil {
		return tool.Result{}, err
	}
	if err := c.Send(ctx, r.Message); err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Output: fmt.Sprintf("[agent %s received the message and reads it before its next step]",
		r.Task)}, nil
}

// ByModel is the By of a child's ending that its parent's model requested.
const ByModel = "model"

func (t tools) cancel(ctx context.Context, r reference) (tool.Result, error) {
	c, err := childOf(t.spawner.Children(), r.Task)
	if err != nil {
		return tool.Result{}, err
	}
	c.Cancel(event.Abort(event.Interrupted, ByModel))
	select {
	case <-c.Done():
	case <-ctx.Done():
		return tool.Result{Aborted: true}, nil
	}
	return tool.Result{Output: Line(c.Status(), time.Now())}, nil
}

func childOf(children []Child, id string) (Child, error) {
	var ids []string
	for _, c := range children {
		s := c.Status()
		if s.Child == id || s.Session == id {
			return c, nil
		}
		ids = append(ids, s.Child)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("there is no agent %q: none was started", id)
	}
	return nil, fmt.Errorf("there is no agent %q; there are %s", id, strings.Join(ids, ", "))
}

// Line describes the state of a child in one line for the model.
func Line(s Status, now time.Time) string {
	if s.Ended != nil {
		line := fmt.Sprintf("%s %s", name(s.ChildStarted), how(*s.Ended))
		if s.Ended.ElapsedMS > 0 {
			line += " after " + span(time.Duration(s.Ended.ElapsedMS)*time.Millisecond)
		}
		return line + left(s.ChildStarted, *s.Ended)
	}
	line := fmt.Sprintf("%s runs for %s%s: %d steps, %d calls", name(s.ChildStarted), span(now.Sub(s.StartedAt)),
		place(s.ChildStarted), s.Steps, s.Calls)
	if s.Doing != "" {
		line += fmt.Sprintf("; now %s, for %s", s.Doing, span(now.Sub(s.DoingSince)))
	}
	if !s.Progress.IsZero() {
		line += fmt.Sprintf("; last progress %s ago", span(now.Sub(s.Progress)))
	}
	return line
}

const maxTitle = 120

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return bound.Clip(text, maxTitle)
}
