package execserver

import (
	"context"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/repo/quarantine"
	"github.com/settle-agent/settle/internal/sandbox"
)

// commandGuard protects files that programs outside of the sandbox obey, in the folders that a
// sandboxed command can change. The zero value protects nothing.
type commandGuard struct {
	server *Server
	// restore puts protected files back, and names them; end does so for the last time.
	restore, end func() (back, left []string)
	last         string // message of leave
}

// guard prepares the guard of a command that starts then, and protects files in its sandbox.
func (s *Server) guard(ctx context.Context, spec *proc.Spec) (g commandGuard, err error) {
	if spec.Sandbox == nil || len(spec.Sandbox.Write) == 0 {
		return g, nil
	}
	o, policy := s.options, *spec.Sandbox
	area, _ := assemble.Guarded(o.Environ, o.Home, spec.Dir, policy.Write, quarantine.Targets{})
	if err := s.repositories.Enter(ctx, area); err != nil {
		return g, invalidRequest("cannot look at the git repositories before the command: %v", err)
	}
	_, policy.Protect = assemble.Guarded(o.Environ, o.Home, spec.Dir, policy.Write, s.repositories.Pointers())
	policy.View = len(policy.Protect) > 0 && hasView()
	spec.Sandbox = &policy
	g.server = s
	g.restore, g.end = executor.Protect(policy)
	return g, nil
}

// hasView reports whether sandboxed commands can have mounts of their own here, which make
// files read-only: a sandbox probe tries it, once (C22).
var hasView = sync.OnceValue(func() bool {
	_, err := proc.Prove(context.Background(), sandbox.Policy{
		Write: []string{"/"}, View: true, OwnProcesses: hidesProcesses(),
	}, nil)
	return err == nil
})

// leave is called when all processes of the command have ended.
func (g *commandGuard) leave() {
	if g.server != nil {
		g.server.repositories.Leave()
		g.last = g.judge(context.Background(), g.end)
	}
}

// exited is called when the command has exited, and returns a message for the client; empty for
// none. If the command has left no processes, the message comes after leave.
func (g *commandGuard) exited(p *proc.Process) string {
	switch {
	case g.server == nil:
		return ""
	case p.LeftNothing():
		<-p.Concluded() // the time of a look is bounded
		return g.last
	}
	return g.judge(context.Background(), g.restore)
}

// judge restores protected files, moves files aside that commands have left and that git would
// obey, and returns a message for the client; empty for none.
func (g *commandGuard) judge(ctx context.Context, restore func() (back, left []string)) string {
	var list []string
	back, left := restore()
	if len(back) > 0 {
		list = append(list, "settle put protected files back: "+strings.Join(back, "; "))
	}
	if len(left) > 0 {
		list = append(
			list, "protected files were changed, and settle could not put them back: "+strings.Join(left, "; "),
		)
	}
	if list != nil {
		files := append(back, left...)
		g.server.options.Logger.WarnContext(ctx, "a sandboxed command changed protected files", "files", files)
	}
	if found := g.server.judgeRepositories(ctx); found != "" {
		list = append(list, found)
	}
	return strings.Join(list, "; ")
}

// judgeRepositories moves files aside that commands have left and that git would obey, and returns
// a message for the client; empty for none.
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
