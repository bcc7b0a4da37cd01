package acp

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// page is the number of sessions in one response.
const page = 100

// list lists the stored sessions, last changed first. The cursor is the last session that the
// client has received.
func (s *Server) list(ctx context.Context, in listParams) (any, error) {
	all, err := s.kept(ctx, in.Cwd)
	if err != nil {
		return nil, err
	}
	if in.Cursor != "" {
		at := slices.IndexFunc(all, func(e catalogue.Entry) bool { return e.Session == in.Cursor })
		if at < 0 {
			return nil, invalid(
				"the cursor %q does not belong to this list any more; list again from the start", in.Cursor,
			)
		}
		all = all[at+1:]
	}
	result := object{}
	if len(all) > page {
		all = all[:page]
		result["nextCursor"] = all[page-1].Session
	}
	listed := []object{}
	for _, e := range all {
		listed = append(
			listed,
			object{"sessionId": e.Session, "cwd": e.Dir, "title": e.Title, "updatedAt": e.Updated.Format(time.RFC3339)},
		)
	}
	result["sessions"] = listed
	return result, nil
}

// kept returns the catalogue's entries of sessions with an input; only the sessions of one
// directory, if cwd names it.
func (s *Server) kept(ctx context.Context, cwd string) ([]catalogue.Entry, error) {
	q := catalogue.Query{}
	if cwd != "" {
		q.Dir = filepath.Clean(cwd)
	}
	data, err := s.dataDir(cmp.Or(q.Dir, s.Dir))
	if err != nil {
		return nil, err
	}
	entries, err := store.Titled(ctx, data, q)
	return slices.DeleteFunc(
		entries, func(e catalogue.Entry) bool { return e.Title == "" || !filepath.IsAbs(e.Dir) },
	), err
}

// deleteSession closes a session, if it is open, and deletes its stored data.
func (s *Server) deleteSession(_ context.Context, in about) (any, error) {
	dir := s.Dir
	if ses, err := s.find(in.SessionID); err == nil {
		dir = ses.opened.Spec.Dir
		if err := ses.close(); err != nil {
			return nil, err
		}
	}
	data, err := s.dataDir(dir)
	if err != nil {
		return nil, err
	}
	err = store.Delete(s.Life, data, in.SessionID)
	if errors.Is(err, fs.ErrNotExist) {
		err = jsonrpc.Errorf(codeNotFound, "%v", err)
	}
	return object{}, err
}
