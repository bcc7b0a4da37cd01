package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/journal"
)

// with calls f with the session, and opens the session if necessary. It calls f once more
// if the session was closed in between, or had to be closed because its log had failed.
func (s *Server) with(ctx context.Context, id string, f func(*settle.Session) error) error {
	for retried := false; ; retried = true {
		session, err := s.session(ctx, id)
		if err != nil {
			return err
		}
		if err = f(session); err == nil || retried || !errors.Is(err, settle.ErrClosed) && !isSpent(session, err) {
			return err
		}
		s.keepPolicy(session)
		closing := session.Close(ctx)
		if ctx.Err() != nil { // else the log has the unfinished work, or cannot have it
			return closing
		}
	}
}

// isSpent reports whether no work runs in the session and none can start, since its log
// has failed. When the session is opened again, the disk can have room.
func isSpent(session *settle.Session, err error) bool {
	if failed := (*journal.FailedError)(nil); !errors.As(err, &failed) {
		return false
	}
	spent := false
	session.View(func(st event.State) { spent = st.Running() == nil })
	return spent
}

// session returns the session, which must exist.
func (s *Server) session(ctx context.Context, id string) (*settle.Session, error) {
	session, err := s.Host.Lookup(ctx, id)
	if session != nil || err != nil {
		return session, err
	}
	if err := openable(ctx, s.kept, id, s.WorkDir); err != nil {
		return nil, err
	}
	return s.open(ctx, id)
}

// bounded returns a context that bounds the wait of a request.
func (s *Server) bounded(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), s.Limits.AnswerTimeout)
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := s.bounded(r)
	defer cancel()
	list, err := store.Overview(ctx, s.Host.Sessions(), s.kept, 0)
	if err != nil {
		return err
	}
	all := []summary{}
	for _, e := range list {
		all = append(all, s.summary(e))
	}
	now := &defaults{Dir: s.WorkDir, Model: s.Model}
	if s.Agent != nil {
		now.Permission = s.Agent.Policy().Mode().Name
		now.Words = event.PermissionSentence(now.Permission, s.Agent.Session.Confinement)
	}
	reply(w, http.StatusOK, sessionList{Sessions: all, New: now})
	return nil
}

func (s *Server) summary(e store.Listed) summary {
	out := summary{
		Outcome:   e.Outcome,
		Reason:    e.Reason,
		ID:        e.Session,
		Title:     cmp.Or(store.Name(s.DataDir, e.Session), e.Title),
		Dir:       e.Dir,
		Model:     s.Model,
		Created:   e.Created,
		Updated:   e.Updated,
		State:     e.State,
		Approvals: e.Approvals,
		Held:      e.Held,
		Seq:       e.Seq,
		Trivial:   e.Trivial,
		Problem:   e.Problem,
	}
	if open := s.Host.Get(e.Session); open != nil {
		out.Model = open.Model().FullName()
		out.Children = s.children(nil, e.Session, 0)
	}
	if e.State == store.Closed {
		out.Model, out.Refuses = e.Model, s.refusesDir(e.Session, e.Dir)
		switch {
		case e.Asks:
			out.Elsewhere = store.Waiting
		case e.Running:
			out.Elsewhere = store.Running
		}
	}
	return out
}

// maxChildDepth bounds the tree of child agents in a list.
const maxChildDepth = 8

// children appends the child agents of an open session, each followed by its own.
func (s *Server) children(list []childEntry, id string, depth int) []childEntry {
	session := s.Host.Get(id)
	if session == nil || depth == maxChildDepth {
		return list
	}
	var found []childEntry
	session.View(func(st event.State) {
		for _, c := range st.Children {
			one := childEntry{ID: c.Session, Parent: id, Title: c.Title, State: store.Running}
			if c.Ended != nil {
				one.State, one.Outcome = store.Closed, c.Ended.Outcome
				if c.Ended.Cause != nil {
					one.Reason = c.Ended.Cause.Reason
				}
			}
			found = append(found, one)
		}
	})
	for _, one := range found {
		if child := s.Host.Get(one.ID); child != nil && one.State == store.Running {
			child.View(func(st event.State) { one.State = store.StateOf(st) })
		}
		list = s.children(append(list, one), one.ID, depth+1)
	}
	return list
}

// ending returns the outcome and the reason of the last turn's end; both are empty if it has not
// ended.
func ending(st event.State) (event.Outcome, event.Reason) {
	if n := len(st.Turns); n > 0 && st.Turns[n-1].Cause != nil {
		return st.Turns[n-1].Cause.Outcome, st.Turns[n-1].Cause.Reason
	}
	return "", ""
}

// approvals returns the approvals that wait for an answer.
func approvals(st event.State) []approval {
	all := []approval{}
	for _, a := range asker.Open(st) {
		all = append(all, approval{
			a.Approval, a.Call, a.Tool, a.Title, a.Why, a.Detail, a.Text, a.Covers, a.Once, a.Form,
		})
	}
	return all
}

// heldCalls returns the calls that wait for a verdict since an earlier host ended.
func heldCalls(st event.State) []heldCall {
	all := []heldCall{}
	for _, h := range st.HeldCalls() {
		a := h.Approval
		all = append(all, heldCall{
			h.ID, h.Turn.ID, h.Item.ID, a.Tool, a.Title, a.Why, a.Text, a.Detail, h.Turn.Dir, a.At.UTC(),
		})
	}
	return all
}

// snapshotOf describes a session. Without an open session, the description lacks its
// running parts.
func (s *Server) snapshotOf(session *settle.Session, st event.State) snapshot {
	out := snapshot{
		ID: st.Session, Dir: st.Host.Dir, Model: s.Model, Seq: st.Seq, State: store.StateOf(st),
		Waiting: []waitingInput{}, Approvals: approvals(st), HeldCalls: heldCalls(st), Jobs: []job{},
	}
	out.Outcome, out.Reason = ending(st)
	if session != nil {
		now := session.Model()
		out.Model, out.Effort = now.FullName(), now.Effort
		if o, ok := session.Value().(*assemble.Opened); ok {
			now := settingsOf(o)
			out.Permission, out.Words = now.Permission, now.Words
		}
	}
	if t := st.Running(); t != nil {
		out.Turn = t.ID
	}
	for _, i := range st.Waiting {
		out.Waiting = append(out.Waiting, waitingInput{i.ID, i.Text, cmp.Or(i.Mode, event.Queue), i.Held})
	}
	for _, j := range st.Jobs {
		if j.Ended == nil {
			out.Jobs = append(out.Jobs, job{j.Job, j.PID, j.Command})
		}
	}
	return out
}

// keptSnapshot describes a session that is not open here. It is not known whether processes that
// its log leaves open still run.
func (s *Server) keptSnapshot(st event.State, id string) snapshot {
	out := s.snapshotOf(nil, st)
	out.ID, out.State, out.Turn, out.Model, out.Approvals, out.Jobs = id, store.Closed, "", "", []approval{}, []job{}
	out.HeldCalls = heldCalls(store.Recovered(s.DataDir, st))
	if n := len(st.Turns); n > 0 {
		start := st.Turns[n-1].Start
		out.Model = strings.Trim(start.Provider+"/"+start.Model, "/")
	}
	out.Host = s.hostElsewhere(id, st)
	if out.Refuses = s.refusesDir(id, st.Host.Dir); out.Refuses == "" && out.Host != nil && !s.Take {
		out.Refuses = fmt.Sprintf(
			"another process has session %q open; work in it with \"settle attach %[1]s\", close it there, or start "+
				"\"settle serve --take\", which ends the turn that runs there", id,
		)
	}
	if out.Refuses == "" && out.Host == nil {
		if next, ok := s.nextSettings(id); ok {
			out.Model, out.Effort, out.Permission, out.Words = next.Model, next.Effort, next.Permission, next.Words
		}
	}
	return out
}

// hostElsewhere returns the process that has a session open which is not open here; nil for none.
func (s *Server) hostElsewhere(id string, st event.State) *otherHost {
	if free, err := journal.Free(s.DataDir, id); free || err != nil {
		return nil
	}
	out := &otherHost{Takes: s.Take}
	if host, known := attach.HostIn(st); known {
		out.PID, out.Kind = host.PID, host.Frontend
	} else if pid, err := journal.Holder(s.DataDir, id); err == nil {
		out.PID = pid
	}
	return out
}

// refusesDir returns the reason why the server takes no input for a session of another directory;
// "" if it takes inputs.
func (s *Server) refusesDir(id, dir string) string {
	if dir == "" || dir == s.WorkDir {
		return ""
	}
	return fmt.Sprintf(
		"session %q works in %q, and this server in %q; start \"settle serve\" there to continue it", id, dir,
		s.WorkDir,
	)
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) error {
	var body newSession
	if err := s.decode(w, r, s.Limits.BodyBytes, &body); err != nil {
		return err
	}
	ctx, cancel := s.bounded(r)
	defer cancel()
	session, err := s.opened(ctx, body.ID)
	if err != nil {
		return err
	}
	var out snapshot
	session.View(func(st event.State) { out = s.snapshotOf(session, st) })
	reply(w, http.StatusCreated, out)
	return nil
}

// opened returns the session, which need not exist.
func (s *Server) opened(ctx context.Context, id string) (*settle.Session, error) {
	if id == "" {
		return s.open(ctx, "")
	}
	session, err := s.session(ctx, id)
	if missing := (*journal.MissingError)(nil); errors.As(err, &missing) {
		return s.open(ctx, id)
	}
	return session, err
}

func (s *Server) get(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := s.bounded(r)
	defer cancel()
	id := r.PathValue("id")
	session, err := s.Host.Lookup(ctx, id)
	if err != nil {
		return err
	}
	turns, err := tailTurns(r)
	if err != nil {
		return err
	}
	var out snapshot
	view := func(st event.State) {
		if out = s.snapshotOf(session, st); session == nil {
			out = s.keptSnapshot(st, id)
		}
		if turns > 0 {
			out.Tail = tailOf(st, turns)
		}
	}
	if session != nil {
		session.View(view)
	} else {
		st, _, err := s.kept.Load(id)
		if err != nil {
			return err
		}
		view(st)
	}
	reply(w, http.StatusOK, out)
	return nil
}

func (s *Server) closeSession(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := s.bounded(r)
	defer cancel()
	id := r.PathValue("id")
	session, err := s.Host.Lookup(ctx, id)
	if err != nil {
		return err
	}
	if session == nil {
		err = s.closedElsewhere(ctx, id)
	} else {
		s.keepPolicy(session)
		err = session.Close(ctx)
	}
	if err != nil {
		return err
	}
	reply(w, http.StatusNoContent, nil)
	return nil
}

// closedElsewhere returns nil if no other process holds a session that is not open here, and a
// [journal.HeldError] with the holder if one does. It also returns errors of reading the session
// and of finding the holder; if the lock cannot be read, it returns nil.
func (s *Server) closedElsewhere(ctx context.Context, id string) error {
	if _, err := s.kept.WorkDir(ctx, id); err != nil {
		return err
	}
	if free, err := journal.Free(s.DataDir, id); free || err != nil {
		return nil // if locks cannot be seen, nothing indicates that the session is open
	}
	holder, err := journal.Holder(s.DataDir, id)
	if err != nil {
		return err
	}
	return &journal.HeldError{Session: id, PID: holder}
}
