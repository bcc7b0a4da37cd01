package acp

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// page is how many sessions are listed at once.
const page = 100

// list lists the sessions that are kept, those that changed last first. The
// cursor is the last one that the client has.
func (s *Server) list(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var in listParams
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	all, err := s.kept(ctx, in.Cwd)
	if err != nil {
		return nil, err
	}
	if in.Cursor != "" {
		at := slices.IndexFunc(all, func(i sessionInfo) bool { return i.SessionID == in.Cursor })
		if at < 0 {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the cursor %q is not one of this list any more; begin anew", in.Cursor)
		}
		all = all[at+1:]
	}
	result := object{}
	if len(all) > page {
		all = all[:page]
		result["nextCursor"] = all[page-1].SessionID
	}
	result["sessions"] = append([]sessionInfo{}, all...)
	return result, nil
}

// kept returns what is known of sessions in which something was said, in one
// directory, if it is named.
func (s *Server) kept(ctx context.Context, cwd string) ([]sessionInfo, error) {
	dir := s.o.Dir
	if cwd != "" {
		dir = filepath.Clean(cwd)
	}
	r, err := s.o.Sessions.Settings(dir, nil)
	if err != nil {
		return nil, err
	}
	data, err := r.NeedDataDir()
	if err != nil {
		return nil, err
	}
	shelf := catalogue.Shelf{Dir: data}
	defer func() { _ = shelf.Close() }() // it was only read
	q := catalogue.Query{}
	if cwd != "" {
		q.Dir = dir
	}
	entries, err := shelf.List(ctx, q)
	if err != nil {
		return nil, err
	}
	var all []sessionInfo
	for _, e := range entries {
		if e.Title != "" && filepath.IsAbs(e.Dir) {
			all = append(all, sessionInfo{e.Session, e.Dir, e.Title, e.Updated.Format(time.RFC3339)})
		}
	}
	return all, nil
}
