package mcp

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/asker"
)

// The states of a session.
const (
	stateIdle    = "idle"
	stateRunning = "running"
	stateWaiting = "waiting" // somebody is asked about a call
	stateClosed  = "closed"  // not open in this process
)

// defaultLimit is how many sessions are listed if the client does not say.
const defaultLimit = 50

// status is the tool.
func (f *Face) status(_ context.Context, _ *sdk.CallToolRequest, in statusInput) (*sdk.CallToolResult, *status, error) {
	var out status
	if s := f.Sessions.Get(in.Session); s != nil {
		s.View(func(st event.State) { out = statusOf(st) })
	} else {
		st, _, err := f.shelf.Load(in.Session)
		if err != nil {
			return nil, nil, unknown(in.Session, err)
		}
		out = statusOf(st)
		// Whether what its log leaves open still runs, is not known here.
		out.State, out.Doing, out.Approvals, out.Jobs = stateClosed, nil, nil, nil
	}
	out.Session = in.Session
	return nil, &out, nil
}

func statusOf(st event.State) status {
	out := status{Session: st.Session, State: stateOf(st), Dir: st.Host.Dir, Jobs: jobsOf(st)}
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
			out.Doing = append(out.Doing, strings.TrimSpace(c.Name+" "+short(c.Arguments)))
		}
	}
	return out
}

func stateOf(st event.State) string {
	switch {
	case st.Running() == nil:
		return stateIdle
	case len(asker.Open(st)) > 0:
		return stateWaiting
	}
	return stateRunning
}

// sessions is the tool.
func (f *Face) sessions(ctx context.Context, _ *sdk.CallToolRequest, in sessionsInput) (*sdk.CallToolResult, *sessions, error) {
	if in.Limit < 0 {
		return nil, nil, fmt.Errorf("cannot list %d sessions", in.Limit)
	}
	most := cmp.Or(in.Limit, defaultLimit)
	out := &sessions{Sessions: []sessionEntry{}}
	isOpen := map[string]bool{}
	for _, s := range f.Sessions.All() {
		isOpen[s.ID()] = true
		s.View(func(st event.State) { out.Sessions = append(out.Sessions, entryOf(st)) })
	}
	others, err := f.shelf.List(ctx, catalogue.Query{Except: func(id string) bool { return isOpen[id] }, Limit: most})
	if err != nil {
		return nil, nil, err
	}
	for _, e := range others {
		out.Sessions = append(out.Sessions, sessionEntry{
			Session: e.Session, Title: e.Title, Dir: e.Dir, State: stateClosed, Outcome: string(e.Outcome), Updated: e.Updated, Problem: e.Problem,
		})
	}
	slices.SortFunc(out.Sessions, func(a, b sessionEntry) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Session, b.Session))
	})
	out.Sessions = out.Sessions[:min(len(out.Sessions), most)]
	return nil, out, nil
}

func entryOf(st event.State) sessionEntry {
	out := sessionEntry{Session: st.Session, Title: catalogue.Title(st), Dir: st.Host.Dir, State: stateOf(st), Updated: st.Updated}
	if n := len(st.Turns); n > 0 && st.Turns[n-1].Cause != nil {
		out.Outcome = string(st.Turns[n-1].Cause.Outcome)
	}
	return out
}

// isDirectory refuses what is no directory to work in.
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
