package mcp

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/terminal"
)

// defaultLimit is the default number of listed sessions.
const defaultLimit = 50

// status is the tool.
func (f *Frontend) status(
	_ context.Context, _ *sdk.CallToolRequest, in statusInput,
) (*sdk.CallToolResult, *status, error) {
	var out status
	if s := f.Sessions.Get(in.Session); s != nil {
		s.View(func(st event.State) { out = statusOf(st) })
	} else {
		st, _, err := f.shelf.Load(in.Session)
		if err != nil {
			return nil, nil, unknown(in.Session, err)
		}
		out = statusOf(st)
		// It is not known here whether processes that its log leaves open still run.
		out.State, out.Doing, out.Approvals, out.Jobs = store.Closed, nil, nil, nil
	}
	out.Session = in.Session
	return nil, &out, nil
}

func statusOf(st event.State) status {
	out := status{Session: st.Session, State: store.StateOf(st), Dir: st.Host.Dir, Jobs: jobsOf(st)}
	for _, i := range st.Waiting {
		out.Waiting = append(out.Waiting, waitingInput{i.Text, i.Held})
	}
	if len(st.Turns) == 0 {
		return out
	}
	t := st.Turns[len(st.Turns)-1]
	out.Turn, out.Answer, out.Model = t.ID, t.Answer(), strings.Trim(t.Start.Provider+"/"+t.Start.Model, "/")
	until := t.EndedAt
	if t.Cause == nil {
		until = time.Now()
	} else {
		out.Outcome, out.Message = string(t.Cause.Outcome), t.Cause.Error()
	}
	out.Seconds = until.Sub(t.StartedAt).Seconds()
	for _, a := range asker.Open(st) {
		out.Approvals = append(out.Approvals, cmp.Or(a.Title, a.Tool))
	}
	for _, i := range t.Items {
		if i.Type() == event.ToolCall && i.Status == event.ItemOpen {
			c := i.Content()
			out.Doing = append(out.Doing, terminal.Short(c.Name+" "+c.RanWith(), maxProgress))
		}
	}
	return out
}

// sessions is the tool.
func (f *Frontend) sessions(
	ctx context.Context, _ *sdk.CallToolRequest, in sessionsInput,
) (*sdk.CallToolResult, *sessions, error) {
	if in.Limit < 0 {
		return nil, nil, fmt.Errorf("cannot list %d sessions", in.Limit)
	}
	list, err := store.Overview(ctx, f.Sessions.All(), f.shelf, cmp.Or(in.Limit, defaultLimit))
	if err != nil {
		return nil, nil, err
	}
	out := &sessions{Sessions: []sessionEntry{}}
	for _, e := range list {
		out.Sessions = append(out.Sessions, sessionEntry{
			Session: e.Session,
			Title:   e.Title,
			Dir:     e.Dir,
			State:   e.State,
			Outcome: string(e.Outcome),
			Held:    e.Held,
			Updated: e.Updated,
			Problem: e.Problem,
		})
	}
	return nil, out, nil
}

// isDirectory refuses a path that is not a directory.
func isDirectory(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cannot use the working directory: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("cannot use the working directory: %q is not a directory", path)
	}
	return nil
}
