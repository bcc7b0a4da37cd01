package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agent"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/toolview"
)

// talk is a conversation of the older interface. Whoever listens hears each of
// its events once, from where the last listener stopped on; while nobody
// listens, nobody can be asked, and the policy answers (C16).
//
//	silent ⇄ heard ─► over    the session was closed, or the connection
type talk struct {
	older  *older
	opened *agent.Opened
	policy *agent.Policy // nil for a session of a tool's

	asking sync.WaitGroup

	mu      sync.Mutex // guards what follows
	hearing int        // listeners
	changed chan struct{}

	// Of pump alone.
	told  uint64 // number of the last event that was heard
	views *views
	asked map[string]context.CancelFunc // by approval
}

func newTalk(o *older, s *agent.Opened, policy *agent.Policy) *talk {
	t := &talk{older: o, opened: s, policy: policy, changed: make(chan struct{}), views: newViews(s), asked: map[string]context.CancelFunc{}}
	s.View(func(st event.State) { t.told = st.Seq })
	return t
}

// listeners adds to the number of those who listen.
func (t *talk) listeners(more int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hearing += more
	close(t.changed)
	t.changed = make(chan struct{})
}

// pump tells of events, and has calls asked about, until the session is closed
// or the connection ends.
func (t *talk) pump() {
	defer t.asking.Wait()
	defer func() {
		for _, end := range t.asked {
			end()
		}
	}()
	for t.older.ctx.Err() == nil {
		t.mu.Lock()
		heard, changed := t.hearing > 0, t.changed
		t.mu.Unlock()
		if t.follow(heard, changed) {
			return
		}
	}
}

// follow goes through the events until the number of listeners changes, and
// reports whether there will be no more.
func (t *talk) follow(heard bool, changed <-chan struct{}) (over bool) {
	ctx, cancel := context.WithCancel(t.older.ctx)
	defer cancel()
	woken := make(chan struct{})
	go func() { // ends with follow, which waits for it
		defer close(woken)
		select {
		case <-changed:
			cancel()
		case <-ctx.Done():
		}
	}()
	defer func() { cancel(); <-woken }()
	for e, err := range t.opened.Events(ctx, t.told) {
		if err != nil {
			return ctx.Err() == nil
		}
		if heard {
			for _, v := range t.views.take(e) {
				t.tell(e, v)
			}
			t.told = e.Seq
		}
		t.approvals(e, heard)
	}
	return ctx.Err() == nil
}

// tell sends a notification.
func (t *talk) tell(e event.Event, v view) {
	_ = t.older.conn.notify(notificationPrefix+v.kind(), map[string]any{ // the connection tells of its end itself
		"id": cmp.Or(e.Turn, e.Session), "msg": v, "conversationId": t.opened.ID(),
	})
}

// approvals has the client asked about a call, or the policy answer.
func (t *talk) approvals(e event.Event, heard bool) {
	switch d := e.Data.(type) {
	case event.ApprovalRequested:
		if !t.opened.Pending(d.Approval) || !t.older.face.claim(t.opened.ID(), d.Approval) {
			return
		}
		ctx, end := context.WithCancel(t.older.ctx)
		t.asked[d.Approval] = end
		t.asking.Go(func() { // pump waits for it, and ends it
			defer end()
			t.answer(ctx, e.Item, d, heard)
		})
	case event.ApprovalEnded:
		if end := t.asked[d.Approval]; end != nil {
			end()
			delete(t.asked, d.Approval)
		}
		t.older.face.unclaim(t.opened.ID(), d.Approval)
	}
}

// decision answers execCommandApproval and applyPatchApproval.
type decision struct {
	Decision string `json:"decision"`
}

// answer has the client asked, or the policy answer.
func (t *talk) answer(ctx context.Context, item string, a event.ApprovalRequested, heard bool) {
	given := settle.Answer{
		Approval: a.Approval, Verdict: event.Denied, By: byOlder, Policy: policyAsk,
		Message: "the policy is ask, and there is nobody to ask: nobody listens to the conversation",
	}
	if heard {
		method, params := t.question(item, a)
		raw, err := t.older.conn.ask(ctx, method, params)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			given.Message = "the policy is ask, and the client could not be asked: " + err.Error()
		default:
			given.Policy, given.Message = "", ""
			given.Verdict = decisionOf(raw)
		}
	}
	t.older.face.record(ctx, t.opened, given)
}

// decisionOf is what the client said. What is not understood, denies.
func decisionOf(raw json.RawMessage) event.Verdict {
	var d decision
	_ = json.Unmarshal(raw, &d) // what cannot be read denies
	switch d.Decision {
	case "approved":
		return event.Approved
	case "approved_for_session":
		return event.ApprovedSession
	case "abort":
		return event.ApprovalAborted
	}
	return event.Denied
}

// question is the request that asks. Clients of different ages read its
// parameters in different cases.
func (t *talk) question(item string, a event.ApprovalRequested) (method string, params map[string]any) {
	call := t.call(item)
	params = map[string]any{
		"conversation_id": t.opened.ID(), "conversationId": t.opened.ID(), "call_id": item, "callId": item, "reason": asker.Words(a),
	}
	if changes := changesOf(a.Tool, a.Detail); isEditor(a.Tool) {
		params["file_changes"], params["fileChanges"] = changes, changes
		return methodAskPatch, params
	}
	params["command"], params["cwd"] = call.asked(), call.workDir()
	params["parsed_cmd"], params["parsedCmd"] = call.parsed(), call.parsed()
	return methodAskCommand, params
}

// call is a tool call as far as it is known.
func (t *talk) call(item string) called {
	out := called{dir: t.opened.Agent.Config.WorkDir}
	t.opened.View(func(st event.State) {
		if turn := st.Running(); turn != nil && turn.Item(item) != nil {
			c := turn.Item(item).Content()
			out.tool, out.arguments = c.Name, c.Arguments
		}
	})
	return out
}

// change takes over what sendUserTurn says of the next turns.
func (t *talk) change(ctx context.Context, in sendTurn) error {
	c := t.opened.Agent.Config
	if in.Dir != "" && in.Dir != c.WorkDir {
		return invalid("cannot work in %q: the conversation works in %q, and a session keeps its directory", in.Dir, c.WorkDir)
	}
	var sandbox struct {
		Mode string `json:"mode"`
		Type string `json:"type"`
	}
	_ = json.Unmarshal(in.Sandbox, &sandbox) // what is not understood allows what it allows here
	if p := policyOf(in.Approval, cmp.Or(sandbox.Mode, sandbox.Type)); p != "" && t.policy != nil {
		t.policy.Set(modeOf(p))
	}
	settings := map[string]string{}
	if in.Model != "" && in.Model != c.Model && in.Model != c.ProviderName+"/"+c.Model {
		settings["model"] = t.older.model(ctx, c.WorkDir, in.Model)
	}
	if in.Effort != "" && in.Effort != c.Effort {
		settings["effort"] = in.Effort
	}
	if len(settings) == 0 {
		return nil
	}
	wish := t.opened.Wish
	for name, value := range wish.Settings {
		if settings[name] == "" {
			settings[name] = value
		}
	}
	wish.Settings = settings
	a, err := t.older.face.Hosts.Agent(ctx, wish)
	if err != nil {
		return invalid("%v", err)
	}
	return t.opened.Rethink(ctx, a)
}

// called is a tool call.
type called struct{ tool, arguments, dir string }

// command is a call as the words of a command.
func (c called) command() []string {
	if command := toolview.New(c.tool, c.arguments, c.dir).Command; command != "" {
		return []string{"bash", "-lc", command}
	}
	return []string{c.tool, c.arguments}
}

// asked is the command as a person is to read it.
func (c called) asked() []string {
	words := c.command()
	words[len(words)-1] = asker.Visible(words[len(words)-1])
	return words
}

// workDir is the directory in which it runs.
func (c called) workDir() string { return toolview.New(c.tool, c.arguments, c.dir).Dir }

// parsed is what a client shows of the command.
func (c called) parsed() []map[string]any {
	words := c.asked()
	return []map[string]any{{"type": "unknown", "cmd": strings.Join(words[min(len(words)-1, 2):], " ")}}
}
