package web

import (
	"context"
	"net/http"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/client/store"
)

// newName is the new name of a session.
type newName struct {
	Name string `json:"name"`
}

// forked is the copy of a session.
type forked struct {
	ID string `json:"id"`
}

func keepRoutes() []route {
	return []route{
		{
			method:   "POST",
			path:     "/api/sessions/{id}/name",
			name:     "renameSession",
			summary:  "Give a session a name, which the list has as its title. An empty name takes it away.",
			body:     newName{},
			must:     true,
			status:   http.StatusNoContent,
			problems: []int{404, 409},
			handle:   (*Server).rename,
		},
		{
			method:   "POST",
			path:     "/api/sessions/{id}/fork",
			name:     "forkSession",
			summary:  "Copy a session. A running turn stays in the original.",
			status:   http.StatusCreated,
			answer:   forked{},
			problems: []int{404, 409},
			handle:   (*Server).fork,
		},
		{
			method:   "DELETE",
			path:     "/api/sessions/{id}/log",
			name:     "deleteSession",
			summary:  "Close a session and delete its log, its outputs and its name.",
			status:   http.StatusNoContent,
			problems: []int{404, 409},
			handle:   (*Server).deleteSession,
		},
	}
}

// keeps returns an error unless the session is on the disk.
func (s *Server) keeps(ctx context.Context, id string) (*settle.Session, error) {
	if s.DataDir == "" {
		return nil, newProblem(http.StatusConflict, "not-kept", "this server keeps its sessions in memory")
	}
	session, err := s.Host.Lookup(ctx, id)
	if session == nil && err == nil {
		_, err = s.kept.WorkDir(ctx, id)
	}
	return session, err
}

func (s *Server) rename(w http.ResponseWriter, r *http.Request) error {
	var body newName
	if err := s.decode(w, r, s.Limits.BodyBytes, &body); err != nil {
		return err
	}
	if len(body.Name) > store.MaxName {
		return newProblem(http.StatusBadRequest, "name", "the name is too long")
	}
	ctx, cancel := s.bounded(r)
	defer cancel()
	_, err := s.keeps(ctx, r.PathValue("id"))
	if err == nil {
		err = store.Rename(s.DataDir, r.PathValue("id"), body.Name)
	}
	if err == nil {
		reply(w, http.StatusNoContent, nil)
	}
	return err
}

func (s *Server) fork(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := s.bounded(r)
	defer cancel()
	fork := settle.NewSessionID()
	_, err := s.keeps(ctx, r.PathValue("id"))
	if err == nil {
		err = store.Fork(ctx, s.DataDir, r.PathValue("id"), fork)
	}
	if err == nil {
		s.keepChoices(r.PathValue("id"), fork)
		reply(w, http.StatusCreated, forked{fork})
	}
	return err
}

func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := s.bounded(r)
	defer cancel()
	session, err := s.keeps(ctx, r.PathValue("id"))
	if err == nil && session != nil {
		err = session.Close(ctx)
	}
	if err == nil {
		err = store.Delete(ctx, s.DataDir, r.PathValue("id"))
		s.overrides.forget(r.PathValue("id"))
	}
	if err == nil {
		reply(w, http.StatusNoContent, nil)
	}
	return err
}
