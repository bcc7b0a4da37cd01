package web

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

// events is a subscription. A cursor that the log does not reach is answered
// with "resync": the client knows events that were lost, such as with a disk.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	at, err := cursorOf(r)
	if err != nil {
		return err
	}
	leave, err := s.subscribe()
	if err != nil {
		return err
	}
	defer leave()
	defer s.watchers.come(r.PathValue("id"))()
	session, err := s.Host.Lookup(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if session == nil {
		kept, isWhole, err := s.kept.Load(r.PathValue("id"))
		if err != nil {
			return err
		}
		if isWhole && kept.Open { // a damaged log is repaired only when a client continues the session
			session = s.revived(r)
		}
		if session == nil {
			s.keptEvents(w, r, at.after(""), kept.Seq)
			return nil
		}
	}
	var last uint64
	var opening string
	session.View(func(st event.State) { last, opening = st.Seq, s.opening(st) })
	after := at.after(opening)
	out, ctx := s.newStream(w, r, opening)
	defer out.end()
	if after > last {
		out.say("resync", position{last})
		return nil
	}
	s.follow(ctx, out, session.Events(ctx, after), after, last)
	return nil
}

// subscribe counts a subscriber until leave is called.
func (s *Server) subscribe() (leave func(), err error) {
	if s.subscribers.Add(1) > int64(s.Limits.Subscribers) {
		s.subscribers.Add(-1)
		return nil, newProblem(
			http.StatusServiceUnavailable, "subscribers", "there are too many subscribers; try again later",
		)
	}
	return func() { s.subscribers.Add(-1) }, nil
}

// unknownCursor is the cursor of a client that does not know where it is.
const unknownCursor = ^uint64(0)

// cursor is the last event that a client has.
type cursor struct {
	number uint64
	// opening, if set, is the opening of the session in which the event had that number
	// and could not be written.
	opening string
}

// after returns the number of the event in the session that is open.
func (c cursor) after(opening string) uint64 {
	if c.opening != "" && c.opening != opening {
		return unknownCursor
	}
	return c.number
}

// opening returns a name of this opening of a session that no other opening has, here or in servers
// that are gone: events that could not be written are lost with the opening.
func (s *Server) opening(st event.State) string {
	return s.boot + "-" + strconv.FormatUint(st.HostSeq, 10)
}

// cursorOf returns the client's cursor.
func cursorOf(r *http.Request) (cursor, error) {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		number, opening, isMarked := strings.Cut(id, ".")
		after, err := strconv.ParseUint(number, 10, 64)
		if err != nil || isMarked && opening == "" {
			after = unknownCursor // a browser would repeat it for ever: the answer makes it start again
		}
		return cursor{after, opening}, nil
	}
	after := r.URL.Query().Get("after")
	if after == "" {
		return cursor{}, nil
	}
	n, err := strconv.ParseUint(after, 10, 64)
	if err != nil {
		return cursor{}, newProblem(http.StatusBadRequest, "cursor", "after must be the number of an event, or 0")
	}
	return cursor{number: n}, nil
}

// follow sends the events after the cursor until the session is closed or the
// client is gone. There is no hurry up to the event that was the last.
func (s *Server) follow(ctx context.Context, out *stream, events iter.Seq2[event.Event, error], after, last uint64) {
	at := after
	for e, err := range events {
		if err != nil {
			out.fail(s, err)
			return
		}
		at = e.Seq
		if !out.event(e, at >= last) {
			return
		}
	}
	if ctx.Err() == nil {
		out.say("closed", position{at})
	}
}

// revived opens a session whose host died, so that who comes back to it sees
// how that ended; it returns nil if that is not so, or cannot be done. One that
// another process holds is left alone.
func (s *Server) revived(r *http.Request) *settle.Session {
	id := r.PathValue("id")
	if free, err := journal.Free(s.DataDir, id); !free || err != nil {
		return nil // also where --take would end the holder: the client did not ask for that
	}
	ctx, cancel := s.bounded(r)
	defer cancel()
	session, err := s.session(ctx, id)
	if err != nil {
		s.Logger.Debug("cannot open a session whose process died", "session", id, "error", s.mask(err.Error()))
		return nil
	}
	return session
}

// keptEvents sends the events of a session that is not open here, as far as
// they are written. The client comes again if it wants to know of more.
func (s *Server) keptEvents(w http.ResponseWriter, r *http.Request, after, last uint64) {
	out, ctx := s.newStream(w, r, "")
	defer out.end()
	if after > last {
		out.say("resync", position{last})
		return
	}
	s.follow(ctx, out, journal.Read(ctx, s.DataDir, r.PathValue("id"), after), after, unknownCursor)
}

// export sends all events up to now.
func (s *Server) export(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	session, err := s.Host.Lookup(r.Context(), id)
	if err != nil {
		return err
	}
	var (
		all  iter.Seq2[event.Event, error]
		last = unknownCursor
	)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if session != nil {
		session.View(func(st event.State) { last = st.Seq })
		all = session.Events(ctx, 0)
	} else {
		if _, err := s.kept.WorkDir(ctx, id); err != nil {
			return err
		}
		all = journal.Read(ctx, s.DataDir, id, 0)
	}
	s.exportTo(w, r, all, last)
	return nil
}

// exportTo sends events up to the last one.
func (s *Server) exportTo(w http.ResponseWriter, r *http.Request, all iter.Seq2[event.Event, error], last uint64) {
	id := r.PathValue("id")
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Content-Disposition", `attachment; filename="`+id+`.jsonl"`) // an id needs no quotes
	out := newPatient(w, r, s.Limits.WriteTimeout)
	for e, err := range all {
		if err == nil {
			err = out.line(e)
		}
		if err != nil {
			s.Logger.Debug("an export was cut", "session", id, "error", s.mask(err.Error()))
			panic(http.ErrAbortHandler) // the only way to say that it is not whole
		}
		if e.Seq >= last {
			break
		}
	}
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}
}
