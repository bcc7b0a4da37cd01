package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// open opens a session where the client wants it.
func (s *Server) open(ctx context.Context, id string, in setup) (*session, error) {
	if _, err := assemble.WorkDir(in.Cwd); err != nil {
		return nil, invalid("%v", err)
	}
	r, err := s.Sessions.Settings(in.Cwd, nil)
	if err != nil {
		return nil, err
	}
	system, more, err := in.system()
	if err != nil {
		return nil, err
	}
	servers, secrets, err := in.servers()
	if err != nil {
		return nil, err
	}
	ses := &session{
		Server: s, id: id, can: *s.can.Load(), ceiling: r.Permission, followed: make(chan struct{}),
		policy: assemble.NewPolicy(assemble.ModeOf(cmp.Or(r.Permission, s.Sessions.Base.Permission))),
		calls:  map[string]*call{}, heard: map[string]bool{},
	}
	ses.opened, err = s.Sessions.Open(ctx, id, assemble.SessionSpec{Dir: in.Cwd, Options: func(o *assemble.Options) {
		o.Policy, o.Editor = ses.policy, ses.editor()
		o.System = cmp.Or(system, o.System)
		o.Append = strings.TrimSpace(o.Append + "\n\n" + more)
		o.Listed = func(string) { ses.listed() }
		o.Servers, o.Secrets = servers, slices.Concat(o.Secrets, secrets)
	}})
	if err != nil {
		return nil, err
	}
	state := ses.opened.State()
	ses.log, ses.titled = transcript.New(state, transcript.Live), len(state.Turns) > 0
	ses.asker = asker.New(s.Life, asker.Options{Session: ses.opened, Ask: ses.ask, Fill: ses.fill, By: s.Client})
	ses.note(in)
	s.sessions.Put(id, ses)
	return ses, nil
}

// checkKept refuses a session that is not there, or that works elsewhere: its
// tools would work in the wrong place.
func (s *Server) checkKept(ctx context.Context, id, cwd string) error {
	data, err := s.dataDir(cwd)
	if err != nil {
		return err
	}
	dir, err := (&catalogue.Shelf{Dir: data}).WorkDir(ctx, id)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return jsonrpc.Errorf(codeNotFound, "%v", err)
	case err != nil || dir == "": // opening a damaged session reports its state
		return err
	}
	return checkSameDir(id, dir, cwd)
}

// dataDir returns the data directory of the sessions that work in a directory.
func (s *Server) dataDir(dir string) (string, error) {
	r, err := s.Sessions.Settings(dir, nil)
	if err != nil {
		return "", err
	}
	return r.NeedDataDir()
}

func checkSameDir(id, dir, cwd string) error {
	if sameDir(dir, cwd) {
		return nil
	}
	return invalid("session %q works in %q, not in %q", id, dir, cwd)
}

// sameDir reports whether two paths name one directory.
func sameDir(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// system returns the client's text for the system prompt: instead replaces settle's own, more is
// added to it. Several agents follow this convention.
func (in setup) system() (instead *string, more string, err error) {
	raw := in.Meta.SystemPrompt
	if len(raw) == 0 || string(raw) == "null" {
		return nil, "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return &text, "", nil
	}
	var object struct{ Append string }
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, "", invalid(`_meta.systemPrompt must be a text or {"append": text}`)
	}
	return nil, object.Append, nil
}

// note records the parts of a request that settle does not support.
func (ses *session) note(in setup) {
	if len(in.AdditionalDirectories) > 0 {
		ses.notes = append(ses.notes, "Additional directories are not supported: the session works in "+in.Cwd+".")
	}
	ses.notes = append(ses.notes, ses.opened.Agent.Notes...)
	for _, n := range ses.notes {
		ses.Tell(errors.New(n))
	}
}

// described returns the description of a session for the client that opened it.
func (ses *session) described() object {
	o := object{"modes": ses.modes(), "configOptions": ses.options()}
	if len(ses.notes) > 0 {
		o["_meta"] = object{"settle": object{"warnings": ses.notes}}
	}
	return o
}
