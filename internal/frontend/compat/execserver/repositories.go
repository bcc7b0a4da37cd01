package execserver

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/repo/quarantine"
)

// guardRepositories records what git would run in the folders that a sandboxed command can
// change. The command starts then; leave is called when all its processes have ended.
func (s *Server) guardRepositories(ctx context.Context, spec proc.Spec) (leave func(), err error) {
	if spec.Sandbox == nil || len(spec.Sandbox.Write) == 0 {
		return func() {}, nil
	}
	if err := s.repositories.Enter(ctx, area(spec)); err != nil {
		return nil, invalidRequest("cannot look at the git repositories before the command: %v", err)
	}
	return func() {
		s.repositories.Leave()
		s.judgeRepositories(context.Background())
	}, nil
}

// area returns the folders that a command can change. The file system as a whole takes too
// long to look through: then it is the working directory.
func area(spec proc.Spec) quarantine.Area {
	a := quarantine.Area{}
	for _, path := range spec.Sandbox.Write {
		real, err := filepath.EvalSymlinks(path)
		switch {
		case err != nil:
			continue // nothing can be changed there
		case filepath.Dir(real) == real:
			if real, err = filepath.EvalSymlinks(spec.Dir); err != nil {
				continue
			}
		}
		if quarantine.IsShared(real) {
			a.Hidden = append(a.Hidden, real)
		} else {
			a.Look = append(a.Look, real)
		}
	}
	return a
}

// judgeRepositories moves aside what git would run of what commands have left, and returns
// what the client has to know; empty for nothing.
func (s *Server) judgeRepositories(ctx context.Context) string {
	var found []string
	for _, f := range s.repositories.Check(ctx) {
		s.options.Logger.WarnContext(
			ctx, "a sandboxed command left something that git would run or obey", "finding", f.String(),
		)
		found = append(found, f.String())
	}
	if found == nil {
		return ""
	}
	return "settle moved aside what git would run or obey: " + strings.Join(found, "; ")
}
