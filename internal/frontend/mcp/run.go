package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/disk"
)

// run is the tool: a turn in a new session.
func (f *Frontend) run(
	ctx context.Context, req *sdk.CallToolRequest, in runInput,
) (*sdk.CallToolResult, *result, error) {
	spec, err := f.sessionSpec(in)
	if err != nil {
		return nil, nil, err
	}
	s, err := f.begin(ctx, "", spec)
	if err != nil {
		return nil, nil, err
	}
	res, out, err := f.do(ctx, req, s, in.Prompt, in.Schema)
	if errors.Is(err, settle.ErrClosed) {
		err = errEnding
	}
	if out == nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stdio.CloseTimeout)
		defer cancel()
		err = errors.Join(err, f.Sessions.Close(closing, s.ID(), event.Shutdown, "host")) // the session has no input
	}
	return res, out, err
}

// reply is the tool: a turn in a session that there is.
func (f *Frontend) reply(
	ctx context.Context, req *sdk.CallToolRequest, in replyInput,
) (*sdk.CallToolResult, *result, error) {
	if in.Mode != "" && !knownMode(event.Mode(in.Mode)) {
		return nil, nil, fmt.Errorf("cannot send an input of mode %q; queue, steer and replace are known", in.Mode)
	}
	s, err := f.open(ctx, in.Session)
	if err != nil {
		return nil, nil, err
	}
	mode := settle.WithMode(event.Mode(in.Mode))
	res, out, err := f.do(ctx, req, s, in.Prompt, in.Schema, mode)
	if out != nil || !errors.Is(err, settle.ErrClosed) {
		return res, out, err
	}
	if s, err = f.begin(ctx, in.Session, s.Spec); err != nil { // it was closed since it was idle; this waits for that
		return nil, nil, err
	}
	if res, out, err = f.do(ctx, req, s, in.Prompt, in.Schema, mode); errors.Is(err, settle.ErrClosed) {
		err = errEnding
	}
	return res, out, err
}

func knownMode(m event.Mode) bool { return m == event.Queue || m == event.Steer || m == event.Replace }

// sessionSpec returns the configuration of a task's session. A client, which may be a
// model, can make the policy stricter only.
func (f *Frontend) sessionSpec(in runInput) (assemble.SessionSpec, error) {
	w := assemble.SessionSpec{Dir: f.Dir, Settings: map[string]string{}}
	if in.Dir != "" {
		w.Dir = disk.AbsoluteIn(f.Dir, in.Dir)
	}
	if err := isDirectory(w.Dir); err != nil {
		return w, err
	}
	for name, value := range map[string]string{"model": in.Model, "effort": in.Effort} {
		if value != "" {
			w.Settings[name] = value
		}
	}
	if in.Permission == "" {
		return w, nil
	}
	configured, err := f.permission(w.Dir)
	if err != nil {
		return w, err
	}
	wanted := settle.Permission(in.Permission)
	if wanted.Strictness() < configured.Strictness() {
		return w, fmt.Errorf(
			"cannot use the permission %q: the configured policy is %q, and a client can only choose a stricter one (ask, deny); --permission changes it",
			in.Permission,
			configured,
		)
	}
	w.Settings["permission"] = in.Permission
	return w, nil
}

// permission is the policy that is in force in a directory.
func (f *Frontend) permission(dir string) (settle.Permission, error) {
	r, err := f.Sessions.Settings(dir, nil)
	if err != nil {
		return "", err
	}
	if r.Permission == "" {
		return f.Sessions.Base.Permission, nil
	}
	return r.Permission, nil
}

// do sends an input and follows its turn to the end. Without a result, the
// input was not accepted.
func (f *Frontend) do(
	ctx context.Context, req *sdk.CallToolRequest, s *assemble.Opened, prompt string, schema map[string]any,
	more ...settle.InputOption,
) (*sdk.CallToolResult, *result, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, nil, err // cancelled before it began
	}
	c := f.client(req.Session)
	options := append([]settle.InputOption{settle.From(c.name())}, more...)
	if schema != nil {
		raw, err := json.Marshal(schema)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot use the schema: %w", err)
		}
		options = append(options, settle.WithSchema(raw))
	}
	// Not bounded by the request: the client must learn whether the input was accepted.
	turn, err := s.Submit(context.WithoutCancel(ctx), prompt, options...)
	if err != nil {
		return nil, nil, err
	}
	t := &task{frontend: f, client: c, opened: s, turn: turn, progress: newProgress(ctx, req, prompt, f.Logger)}
	if e := c.tasks.Add(turn.Input(), t); e != nil {
		defer e.Answer()
	} else { // it has ended its session
		t.end(ctx)
	}
	admit(ctx)
	defer f.retire(ctx)
	out, err := t.follow(ctx)
	if err != nil {
		return nil, &result{Session: s.ID()}, err
	}
	if schema != nil && json.Unmarshal([]byte(out.Answer), &out.Value) != nil {
		out.Value = nil // the answer has the same content
	}
	return &sdk.CallToolResult{
		IsError: out.Outcome != string(event.Completed),
		Content: []sdk.Content{&sdk.TextContent{Text: out.text()}},
	}, out, nil
}

// text is the result for a client that reads no structured ones.
func (r *result) text() string {
	var parts []string
	if r.Answer != "" {
		parts = append(parts, r.Answer)
	}
	if r.Message != "" {
		parts = append(parts, "["+r.Message+"]")
	}
	return strings.Join(append(parts, "[session "+r.Session+"]"), "\n\n")
}

// resultOf describes a turn that has ended.
func resultOf(session string, st event.State, id string) *result {
	out := &result{Session: session, Turn: id, Jobs: jobsOf(st)}
	t := st.Turn(id)
	if t == nil || t.Cause == nil {
		return out
	}
	out.Outcome, out.AbortReason, out.Answer = string(t.Cause.Outcome), t.Cause.Reason, t.Answer()
	out.Model = strings.Trim(t.Start.Provider+"/"+t.Start.Model, "/")
	out.Steps, out.Calls, out.Denied = t.Summary.Steps, t.Summary.Calls, t.Summary.Denied
	u := t.Summary.Usage
	out.Usage = &usage{Input: u.Input, CacheRead: u.CacheRead, Output: u.Output, Reasoning: u.Reasoning}
	if t.Cause.Outcome != event.Completed {
		out.Message = t.Cause.Error()
	}
	if e := t.Cause.Failure; e != nil {
		out.Error = &failure{Name: e.Name, Kind: e.Kind, Status: e.Status, Message: e.Message}
	}
	return out
}

// heldResult describes an input that no turn took.
func heldResult(session string, err error) *result {
	out := &result{Session: session, Outcome: "held", Message: err.Error()}
	if held := (*settle.HeldError)(nil); errors.As(err, &held) {
		out.AbortReason = held.Reason
	}
	return out
}

func jobsOf(st event.State) []background {
	var all []background
	for _, j := range st.Jobs {
		if j.Ended == nil {
			all = append(all, background{j.Job, j.PID, j.Command})
		}
	}
	return all
}
