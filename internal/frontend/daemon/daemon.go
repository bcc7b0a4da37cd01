package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/client/image"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/scope"
)

// Report is the report of the host process to the command that started it, as one line of JSON.
type Report struct {
	Session string `json:"session,omitempty"`
	PID     int    `json:"pid,omitempty"`
	// Worktree is the session's own git worktree; nil for none.
	Worktree *event.Worktree `json:"worktree,omitempty"`
	// Error is the reason why the session has not accepted the prompt; empty if it has accepted it.
	Error string `json:"error,omitempty"`
}

// Options configure a host process.
type Options struct {
	Sessions *assemble.Sessions
	// Session is the session to open or to create, by Spec.
	Session string
	Spec    assemble.SessionSpec
	Prompt  string
	// Attached are the files of the prompt.
	image.Attached
	// Report receives the Report, and is closed then.
	Report io.WriteCloser
	// Owner, if set, is the connection to the terminal that started the process. It receives the
	// Report, and there is no prompt. The session ends with the connection, unless the terminal
	// detaches.
	Owner net.Conn
	// Stops brings signals, which end everything.
	Stops <-chan stdio.Stop
	// IdleTimeout ends the process when nothing has happened in the session for so long.
	IdleTimeout time.Duration
	Logger      *slog.Logger
}

const (
	// closeTimeout bounds the end of the session.
	closeTimeout = 12 * time.Second
	// reportTimeout bounds the report to a process that may be stopped.
	reportTimeout = 5 * time.Second
	// checksPerTimeout is the number of checks for idle sessions within IdleTimeout.
	checksPerTimeout = 12
)

// Clients counts the attached clients of the process.
type Clients struct {
	mu   sync.Mutex // guards the fields below
	open int
	left time.Time // when the last one left
}

// Serve is [attach.Serve] for a counted client.
func (c *Clients) Serve(ctx context.Context, s *settle.Session, line json.RawMessage, conn net.Conn) {
	c.mu.Lock()
	c.open++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open--
		c.left = time.Now()
	}()
	attach.Serve(ctx, s, line, conn)
}

// absent reports whether no client has been attached since then.
func (c *Clients) absent(since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open == 0 && c.left.Before(since)
}

// Run hosts the session until it is idle or closed, or a stop comes, and returns the exit code.
// The end of ctx, which comes with a stop, means that the prompt must not be accepted any more.
func Run(ctx context.Context, o Options, clients *Clients) (code int) {
	opened, err := o.Sessions.Open(ctx, o.Session, o.Spec)
	if err == nil {
		err = context.Cause(ctx) // nil before its end
	}
	if err == nil && o.Owner == nil {
		err = o.submit(ctx, opened)
	}
	if err != nil {
		o.report(Report{Error: err.Error()})
		return o.refuse()
	}
	ctx = context.WithoutCancel(ctx)
	var host event.SessionOpened
	var last uint64
	opened.View(func(st event.State) { host, last = st.Host, st.Seq })
	o.report(Report{Session: opened.ID(), PID: os.Getpid(), Worktree: host.Worktree})
	closed := make(chan struct{})
	// Ends with the session, which close ends at the latest.
	go scope.Shield(func(error) {}, func() {
		defer close(closed)
		o.follow(ctx, opened, last)
	})()
	return o.host(ctx, opened, clients, closed)
}

// followDelay is the delay before a session is followed again whose events ended.
const followDelay = 100 * time.Millisecond

// follow returns when the session is closed. That its log cannot be read is no end of the session.
func (o Options) follow(ctx context.Context, opened *assemble.Opened, after uint64) {
	reported := false
	for !opened.Closed() {
		for e, err := range opened.Events(ctx, after) {
			if err != nil && !reported {
				o.Logger.Error("detached host cannot read its session", "session", opened.ID(), "error", err)
				reported = true
			}
			if err != nil {
				break
			}
			after = e.Seq
		}
		if opened.Closed() {
			return
		}
		<-time.After(followDelay)
	}
}

// refuse ends everything after a failed start.
func (o Options) refuse() (code int) {
	select {
	case stop := <-o.Stops:
		o.close(stop.Reason, stop.By)
		return stop.Code
	default:
		o.close(event.Shutdown, "host")
		return stdio.CodeUsage
	}
}

// submit submits the prompt. It returns when the prompt is durable.
func (o Options) submit(ctx context.Context, opened *assemble.Opened) error {
	expand := commands.Expansion{Source: opened.Commands()}.Expand
	_, err := opened.Submit(ctx, o.Prompt, settle.WithImages(o.Images...), settle.WithDocuments(o.Documents...),
		settle.WithExpansion(expand))
	return err
}

// report reports to the command that started the process, which may have ended.
func (o Options) report(r Report) {
	line, err := json.Marshal(r)
	if err != nil {
		return // texts and numbers can always be encoded
	}
	done := make(chan struct{})
	// Ends with the write, or with the process.
	go scope.Shield(func(error) {}, func() {
		defer close(done)
		if o.Owner != nil {
			_, _ = o.Owner.Write(append(line, '\n'))
			return
		}
		_, _ = o.Report.Write(append(line, '\n'))
		_ = o.Report.Close()
	})()
	select {
	case <-done:
	case <-time.After(reportTimeout):
	}
}

// host waits for the end of the session.
func (o Options) host(
	ctx context.Context, opened *assemble.Opened, clients *Clients, closed <-chan struct{},
) (code int) {
	owner := o.serveOwner(ctx, opened)
	left := owner.left
	tick := time.NewTicker(o.IdleTimeout / checksPerTimeout)
	defer tick.Stop()
	for {
		select {
		case <-closed:
			if owner.detached.Load() {
				o.logClosed(opened)
			}
			o.close(event.Shutdown, "host")
			owner.await()
			return stdio.CodeCompleted
		case <-left:
			left = nil
			if code, done := o.leave(owner, opened.ID()); done {
				o.logWorktree(opened)
				return code
			}
			continue
		case stop := <-o.Stops:
			o.Logger.Info("detached host ends by "+stop.Who()+", with its session", "session", opened.ID())
			o.close(stop.Reason, stop.By)
			o.logWorktree(opened)
			return stop.Code
		case <-tick.C:
		}
		since := time.Now().Add(-o.IdleTimeout)
		if !owner.detached.Load() || !clients.absent(since) {
			continue
		}
		closing, cancel := context.WithTimeout(ctx, closeTimeout)
		idle, err := opened.CloseIdle(closing, since)
		cancel()
		if err != nil {
			o.Logger.Warn("cannot close an idle session", "session", opened.ID(), "error", err)
		}
		if idle {
			o.Logger.Info(
				fmt.Sprintf("detached host ends its session, which was idle for %v", o.IdleTimeout),
				"session",
				opened.ID(),
			)
		}
	}
}

// logClosed logs the end of a session that this process has not ended.
func (o Options) logClosed(opened *assemble.Opened) {
	o.Logger.Info("detached host ends: its session is closed", "session", opened.ID())
	o.logWorktree(opened)
}

// logWorktree logs where the session's own git worktree is, and how to merge it.
func (o Options) logWorktree(opened *assemble.Opened) {
	var lines []string
	opened.View(func(st event.State) { lines = transcript.WorktreeLines(st.Host, st.WorktreeLeft) })
	for _, line := range lines {
		o.Logger.Info(line, "session", opened.ID())
	}
}

// close ends everything, and logs the turns and processes that did not stop.
func (o Options) close(reason event.Reason, by string) {
	if err := o.end(reason, by); err != nil {
		o.Logger.Error("cannot end everything", "error", err)
	}
}

// end ends everything, and returns an error that names the turns and processes that did not stop.
func (o Options) end(reason event.Reason, by string) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return o.Sessions.CloseAll(ctx, reason, by)
}
