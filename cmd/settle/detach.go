package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/image"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/daemon"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// hostFlag makes a process the host of a detached session; its value is the session's ID.
	hostFlag = "detached-host"
	// idleFlag is for tests.
	idleFlag = "detached-idle"
	// detachedIdleTimeout ends a detached host whose session is idle.
	detachedIdleTimeout = time.Hour
	// startTimeout bounds the time until a host has accepted the prompt.
	startTimeout = time.Minute
	// maxHostPrompt bounds the prompt that a host reads, in bytes.
	maxHostPrompt = 16 << 20
)

// detachFlags are the flags of a session that outlives the command.
type detachFlags struct {
	detach bool
	host   string // the session of this host process; empty for other processes
	idle   time.Duration
}

func (f *detachFlags) define(flags *pflag.FlagSet) {
	flags.BoolVar(
		&f.detach, "detach", false,
		"return when the session has the prompt; the turn goes on in a process of its own",
	)
	flags.StringVar(&f.host, hostFlag, "", "")
	flags.DurationVar(&f.idle, idleFlag, detachedIdleTimeout, "")
	_, _ = flags.MarkHidden(hostFlag), flags.MarkHidden(idleFlag) // they exist
}

// exclude refuses flags that mean the end of the turn, which a detached command does not see.
func (*detachFlags) exclude(cmd *cobra.Command) {
	for _, name := range []string{
		"ephemeral", "json", "output-last-message", "output-schema", "load-trajectory", "resume-crashed", "verbose",
	} {
		cmd.MarkFlagsMutuallyExclusive("detach", name)
	}
}

// detached starts a host process for the session, and returns when the host has accepted the
// prompt.
func (f *runFlags) detached(cmd *cobra.Command, s *streams, args []string) error {
	p, err := f.place(cmd, s)
	if err != nil {
		return err
	}
	dataDir, err := p.resolved.NeedDataDir()
	if err != nil {
		return err
	}
	if err := assemble.CheckDirectory(p.dir, p.resolved, s.getenv); err != nil {
		return err
	}
	p.session = cmp.Or(p.session, settle.NewSessionID())
	sig := catch(cmd.Context())
	defer sig.release()
	text, err := f.prompt(sig.ctx, s, args, runPlace{})
	if err != nil {
		return sig.instead(usage(cmd, err))
	}
	log, err := hostLog(dataDir, p.session)
	if err != nil {
		return err
	}
	defer log.Close()
	host, err := proc.Standalone{
		Args: append([]string{"--" + hostFlag + "=" + p.session}, os.Args[1:]...), Env: s.environ, Stderr: log,
	}.Start()
	if err != nil {
		return err
	}
	defer host.Out.Close()
	report, err := f.hand(sig.ctx, text, log.Name(), host)
	if err != nil {
		return sig.instead(err)
	}
	if !f.quiet {
		f.explain(s, report)
	}
	_, err = fmt.Fprintln(s.stdout, report.Session)
	return failed(err)
}

// hand gives the prompt to the host process, and returns its report. A host that has not
// accepted the prompt is ended.
func (f *runFlags) hand(
	ctx context.Context, prompt, log string, host *proc.StandaloneProcess,
) (report daemon.Report, err error) {
	ctx, cancel := context.WithTimeoutCause(
		ctx, startTimeout, fmt.Errorf("the host process has not accepted the prompt within %v", startTimeout),
	)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		host.Terminate()
		_ = host.Out.SetReadDeadline(time.Unix(1, 0))
	})()
	_, err = io.WriteString(host.In, prompt)
	err = errors.Join(err, host.In.Close())
	var line []byte
	if err == nil {
		line, err = bufio.NewReader(host.Out).ReadBytes('\n')
	}
	switch {
	case ctx.Err() != nil:
		return report, errors.Join(context.Cause(ctx), host.Wait())
	case err != nil:
		return report, fmt.Errorf(
			"the host process ended before it accepted the prompt: %w; it wrote to %s", host.Wait(), log,
		)
	}
	if err := json.Unmarshal(line, &report); err != nil {
		return report, fmt.Errorf("the host process reported nothing that settle knows: %w", err)
	}
	if report.Error != "" {
		_ = host.Wait() // the report has the reason
		return report, errors.New(report.Error)
	}
	return report, host.Release()
}

// explain says how to go on with a detached session.
func (f *runFlags) explain(s *streams, r daemon.Report) {
	text := fmt.Sprintf(
		"settle: session %[1]s works on in pid %[2]d\n"+
			"  attach:    settle attach %[1]s\n"+
			"  interrupt: settle sessions interrupt %[1]s\n"+
			"  end:       kill %[2]d\n"+
			"  list:      settle sessions\n", r.Session, r.PID)
	if w := r.Worktree; w != nil {
		text += fmt.Sprintf("  worktree:  %s, branch %s\n", w.Path, w.Branch)
	}
	if isTerminal(s.stderr) {
		text = terminal.Text(text)
	}
	fmt.Fprint(s.stderr, text)
}

func hostLogPath(dataDir, session string) string {
	return filepath.Join(dataDir, "log", "detached-"+filepath.Base(session)+".log")
}

// hostLog opens the file for what a host process writes to standard error: messages before its
// log is open, and the report of a crash.
func hostLog(dataDir, session string) (*os.File, error) {
	path := hostLogPath(dataDir, session)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the folder of the host's log: %w", err)
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the host's log: %w", err)
	}
	return log, nil
}

// runHost hosts a detached session: this process was started by detached.
func (f *runFlags) runHost(cmd *cobra.Command, s *streams) (int, error) {
	prompt, err := io.ReadAll(io.LimitReader(s.stdin, maxHostPrompt))
	if err != nil {
		return 0, err
	}
	refuse := func(err error) (int, error) {
		_ = json.NewEncoder(s.stdout).
			Encode(daemon.Report{Error: redact.Diagnostic(err.Error())})
			// the reader shows it
		return 0, err
	}
	p, err := f.place(cmd, s)
	if err != nil {
		return refuse(err)
	}
	o := daemon.Options{
		Session: f.host, Prompt: string(prompt), Report: s.stdout, IdleTimeout: f.idle,
	}
	for _, path := range f.images {
		picture, err := image.Read(path)
		if err != nil {
			return refuse(err)
		}
		o.Images = append(o.Images, picture)
	}
	clients := &daemon.Clients{}
	f.plan = plans(cmd.Flags())
	base := f.agent(s, p.resolved, p.dir, "")
	base.Frontend, base.Attended = "detached", true
	in, _ := s.server(cmd, base)
	defer in.release()
	in.hosts.Base.Attach = clients.Serve
	in.reportExhausted(s)
	policy := base.Policy // plan mode
	if policy == nil {
		policy = assemble.NewPolicy(assemble.ModeOf(cmp.Or(p.resolved.Permission, settle.Allow)))
	}
	o.Sessions, o.Stops, o.Logger = in.hosts, in.stops, hostLogger(p.resolved)
	o.Spec = assemble.SessionSpec{
		Dir: p.dir, Settings: p.flags, By: assemble.User, Worktree: f.worktree.name(),
		Options: func(o *assemble.Options) { o.Policy = policy },
	}
	code := daemon.Run(cmd.Context(), o, clients)
	if info, err := s.stderr.Stat(); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		_ = os.Remove(hostLogPath(p.resolved.DataDir, f.host)) // it is empty
	}
	return code, nil
}

// hostLogger returns the diagnostic log, for the ends of a detached host.
func hostLogger(r *config.Resolved) *slog.Logger {
	if log := assemble.Log(r); log != nil {
		return log(redact.New(r.Secrets()...))
	}
	return slog.New(slog.DiscardHandler)
}
