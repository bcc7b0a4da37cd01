package web

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"net/http"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/journal"
)

// Archive has sessions that other processes run, such as the workers of a fleet. Clients
// can only read and interrupt them.
type Archive interface {
	// List returns the sessions, most recently changed first.
	List(ctx context.Context) ([]Entry, error)
	// State returns the current state of a session's log; an [fs.ErrNotExist] if there is no such
	// session.
	State(ctx context.Context, session string) (event.State, error)
	// Follow yields the events after the cursor, and later events as they arrive, until ctx ends.
	Follow(ctx context.Context, session string, cursor uint64) iter.Seq2[event.Event, error]
	// Interrupt ends the turn that runs in a session, on behalf of by, and returns when
	// it has ended. It reports whether one was running.
	Interrupt(ctx context.Context, session, by string) (bool, error)
}

// Entry is a session in the list of an [Archive].
type Entry struct {
	Session, Title, Dir, Model string
	Created, Updated           time.Time
	State                      store.State
	Outcome                    event.Outcome // of the last turn, if it has ended
	Reason                     event.Reason
}

// NewArchive returns a server of an archive. It ignores the options that concern a host. readOnly
// is the message that explains to people why they cannot change sessions here, and which program
// can.
func NewArchive(o Options, a Archive, readOnly string) (*Server, error) {
	s, err := newServer(o, archiveRoutes())
	if err != nil {
		return nil, err
	}
	s.archive, s.readOnly = a, readOnly
	return s, nil
}

// archiveRoutes returns the routes of the API that an archive can answer.
func archiveRoutes() []route {
	handles := map[string]func(*Server, http.ResponseWriter, *http.Request) error{
		"listSessions": (*Server).listArchive, "getSession": (*Server).getArchive, "events": (*Server).archiveEvents,
		"export": (*Server).exportArchive, "interrupt": (*Server).interruptArchive, "describe": (*Server).description,
	}
	var all []route
	for _, r := range routes() {
		if r.handle = handles[r.name]; r.handle != nil {
			all = append(all, r)
		}
	}
	return all
}

func (s *Server) listArchive(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := s.bounded(r)
	defer cancel()
	list, err := s.archive.List(ctx)
	if err != nil {
		return err
	}
	all := []summary{}
	for _, e := range list {
		all = append(all, summary{
			ID:      e.Session,
			Title:   e.Title,
			Dir:     e.Dir,
			Model:   e.Model,
			Created: e.Created,
			Updated: e.Updated,
			State:   e.State,
			Outcome: e.Outcome,
			Reason:  e.Reason,
		})
	}
	reply(w, http.StatusOK, sessionList{Sessions: all, ReadOnly: s.readOnly})
	return nil
}

// archived returns the state of a session that the archive has.
func (s *Server) archived(ctx context.Context, id string) (event.State, error) {
	st, err := s.archive.State(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		err = &journal.MissingError{Session: id}
	}
	return st, err
}

func (s *Server) getArchive(w http.ResponseWriter, r *http.Request) error {
	turns, err := tailTurns(r)
	if err != nil {
		return err
	}
	ctx, cancel := s.bounded(r)
	defer cancel()
	id := r.PathValue("id")
	st, err := s.archived(ctx, id)
	if err != nil {
		return err
	}
	out := s.snapshotOf(nil, st)
	if out.ID, out.Refuses = id, s.readOnly; !st.Open {
		out.State = store.Closed
	}
	if n := len(st.Turns); n > 0 {
		out.Model = st.Turns[n-1].Start.Provider + "/" + st.Turns[n-1].Start.Model
	}
	if turns > 0 {
		out.Tail = tailOf(st, turns)
	}
	reply(w, http.StatusOK, out)
	return nil
}

func (s *Server) archiveEvents(w http.ResponseWriter, r *http.Request) error {
	at, err := cursorOf(r)
	if err != nil {
		return err
	}
	leave, err := s.subscribe()
	if err != nil {
		return err
	}
	defer leave()
	id := r.PathValue("id")
	st, err := s.archived(r.Context(), id)
	if err != nil {
		return err
	}
	out, ctx := s.newStream(w, r, "")
	defer out.end()
	if after := at.after(""); after > st.Seq {
		out.say("resync", position{st.Seq})
	} else {
		s.follow(ctx, out, s.archive.Follow(ctx, id, after), after, st.Seq)
	}
	return nil
}

func (s *Server) exportArchive(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	st, err := s.archived(r.Context(), id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	all := s.archive.Follow(ctx, id, 0)
	if st.Seq == 0 {
		all = func(func(event.Event, error) bool) {}
	}
	s.exportTo(w, r, all, st.Seq)
	return nil
}

// interruptArchive answers after the turn's terminal event, with the turn's outcome (C10).
func (s *Server) interruptArchive(w http.ResponseWriter, r *http.Request) error {
	var body interruption
	if err := s.decode(w, r, s.Limits.BodyBytes, &body); err != nil {
		return err
	}
	ctx, cancel := s.bounded(r)
	defer cancel()
	id := r.PathValue("id")
	running, err := s.archive.Interrupt(ctx, id, client(r))
	if err != nil {
		return s.unended(err, "")
	}
	st, err := s.archived(ctx, id)
	if err != nil {
		return err
	}
	var out outcome
	if n := len(st.Turns); running && n > 0 && st.Turns[n-1].Cause != nil {
		c := st.Turns[n-1].Cause
		out = outcome{
			Turn:    st.Turns[n-1].ID,
			Outcome: c.Outcome,
			Reason:  c.Reason,
			Message: c.Error(),
			By:      cmp.Or(c.By, client(r)),
		}
	}
	reply(w, http.StatusOK, out)
	return nil
}
