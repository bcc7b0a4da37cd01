package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/daemon"
	"github.com/settle-agent/settle/internal/journal"
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
	// stopGrace bounds the wait for the end of a host; then settle kills it.
	stopGrace = 20 * time.Second
	// maxHostPrompt bounds the prompt of a detached session, in bytes.
	maxHostPrompt = 16 << 20
	// maxHostOrder bounds the order that a host reads: JSON writes a byte as up to 6 bytes.
	maxHostOrder = 6*maxHostPrompt + 1<<10
)

// hostOrder is the message that a host process reads from the command that started it. An order
// that ends early is no JSON, so that no host starts with the beginning of a prompt.
type hostOrder struct {
	Prompt string `json:"prompt"`
}

// readOrder reads the prompt of a host process.
func readOrder(r io.Reader) (string, error) {
	var order hostOrder
	if err := json.NewDecoder(io.LimitReader(r, maxHostOrder)).Decode(&order); err != nil {
		return "", fmt.Errorf("cannot read the prompt: the command that started this process has ended: %w", err)
	}
	return order.Prompt, nil
}

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
func (f *runFlags) detached(cmd *cobra.Command, s *streams, args []string) (err error) {
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
	if len(text) > maxHostPrompt {
		return fmt.Errorf(
			"cannot start a detached session: the prompt has %d bytes, and %d are allowed; put the text into a file "+
				"and name the file in the prompt", len(text), maxHostPrompt,
		)
	}
	log, err := hostLog(dataDir, p.session)
	if err != nil {
		return err
	}
	defer log.Close()
	defer func() {
		if err != nil {
			removeEmpty(log, log.Name())
		}
	}()
	host, err := proc.Standalone{
		Args: hostArguments(cmd, hostFlag, p.session), Env: s.environ, Stderr: log,
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

// hostArguments returns the arguments of a host process: a flag that makes it one, and the flags
// of this command. The prompt, which other users could read in a list of processes, comes as an
// order.
func hostArguments(cmd *cobra.Command, host, value string) []string {
	args := append(strings.Fields(cmd.CommandPath())[1:], "--"+host+"="+value)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			args = append(args, "--"+f.Name+"="+value)
		}
	})
	return args
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
		_ = host.In.SetWriteDeadline(time.Unix(1, 0))
		_ = host.Out.SetReadDeadline(time.Unix(1, 0))
	})()
	err = json.NewEncoder(host.In).Encode(hostOrder{Prompt: prompt})
	err = errors.Join(err, host.In.Close())
	var line []byte
	if err == nil {
		line, err = bufio.NewReader(host.Out).ReadBytes('\n')
	}
	switch {
	case ctx.Err() != nil:
		err := errors.Join(context.Cause(ctx), awaitHost(host))
		if json.Unmarshal(line, &report) == nil && report.Session != "" {
			err = fmt.Errorf("session %s has the prompt, and its host process was ended: %w", report.Session, err)
		}
		return report, err
	case err != nil:
		host.Terminate()
		return report, fmt.Errorf(
			"the host process ended before it accepted the prompt: %w; it wrote to %s",
			cmp.Or(awaitHost(host), err), log,
		)
	}
	if err := json.Unmarshal(line, &report); err != nil {
		host.Terminate()
		return report, errors.Join(
			fmt.Errorf("the host process reported nothing that settle knows: %w", err), awaitHost(host),
		)
	}
	if report.Error != "" {
		_ = awaitHost(host) // the report has the reason
		return report, errors.New(report.Error)
	}
	return report, host.Release()
}

// awaitHost waits for the end of a host process that stops, and kills it after the grace.
func awaitHost(host *proc.StandaloneProcess) error {
	defer time.AfterFunc(stopGrace, host.Kill).Stop()
	return host.Wait()
}

// explain prints the commands that attach to, interrupt, end and list a detached session, and its
// worktree if it has one.
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

// hostLogs returns the folder of the hosts' logs, and the pattern of the names of a session's.
func hostLogs(dataDir, session string) (dir, pattern string) {
	return filepath.Join(dataDir, "log"), "detached-" + filepath.Base(session) + "-*.log"
}

// hostLog creates the file for the standard error of a host process: messages before its log is
// open, and the report of a crash. Each host has a file of its own, because another host of the
// session may run.
func hostLog(dataDir, session string) (*os.File, error) {
	dir, pattern := hostLogs(dataDir, session)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the folder of the host's log: %w", err)
	}
	removeStaleHostLogs(dataDir, dir)
	log, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, fmt.Errorf("cannot open the host's log: %w", err)
	}
	return log, nil
}

// minStaleAge is the least age of the file of a host that has ended: a younger one can be of a host that has not
// opened its session yet.
const minStaleAge = time.Minute

// removeStaleHostLogs removes the empty files that killed hosts have left: no process has their session open.
func removeStaleHostLogs(dataDir, dir string) {
	paths, _ := filepath.Glob(filepath.Join(dir, "detached-*.log")) // the pattern is valid
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 0 || time.Since(info.ModTime()) < minStaleAge {
			continue
		}
		session := strings.TrimPrefix(filepath.Base(path), "detached-")
		session = session[:max(strings.LastIndexByte(session, '-'), 0)]
		if free, err := journal.Free(dataDir, session); free && err == nil || errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(path) // else the next host tries again
		}
	}
}

// removeHostLog removes the file that is this host's standard error, if it is empty.
func removeHostLog(stderr *os.File, dataDir, session string) {
	dir, pattern := hostLogs(dataDir, session)
	paths, _ := filepath.Glob(filepath.Join(dir, pattern)) // an ID has no special characters
	for _, path := range paths {
		removeEmpty(stderr, path)
	}
}

// removeEmpty removes the open file at the path, if it is empty.
func removeEmpty(log *os.File, path string) {
	info, err := log.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > 0 {
		return
	}
	if named, err := os.Lstat(path); err == nil && os.SameFile(info, named) {
		_ = os.Remove(path)
	}
}

// runHost hosts a detached session: this process was started by detached.
func (f *runFlags) runHost(cmd *cobra.Command, s *streams) (int, error) {
	proc.ShowName()
	prompt, err := readOrder(s.stdin)
	if err != nil {
		return 0, err
	}
	refuse := func(err error) (int, error) {
		_ = json.NewEncoder(s.stdout).Encode(daemon.Report{Error: redact.Diagnostic(err.Error())}) // to be shown
		return 0, err
	}
	p, err := f.place(cmd, s)
	if err != nil {
		return refuse(err)
	}
	o := daemon.Options{
		Session: f.host, Prompt: prompt, Report: s.stdout, IdleTimeout: f.idle,
	}
	for _, path := range f.images {
		if err := o.Add(path); err != nil {
			return refuse(err)
		}
	}
	clients := &daemon.Clients{}
	f.plan = plans(cmd.Flags())
	base := f.agent(s, p.resolved, p.dir, "")
	base.Frontend, base.Attended = "detached", true
	in, sig := s.server(cmd, base)
	defer in.release()
	in.hosts.Base.Attach = clients.Serve
	in.reportExhausted(s)
	policy := base.Policy // plan mode
	if policy == nil {
		policy = assemble.NewPolicy(assemble.Begins(p.resolved.Settings, settle.Allow))
	}
	o.Sessions, o.Stops, o.Logger = in.hosts, in.stops, hostLogger(p.resolved)
	o.Spec = assemble.SessionSpec{
		Dir: p.dir, Settings: p.flags, By: assemble.User, Worktree: f.worktree.name(),
		OutsideWorktree: cmd.Flags().Changed("cwd"),
		Options:         func(o *assemble.Options) { o.Policy = policy },
	}
	code := daemon.Run(sig.ctx, o, clients)
	removeHostLog(s.stderr, p.resolved.DataDir, f.host)
	return code, nil
}

// hostLogger returns the diagnostic log, for the ends of a detached host.
func hostLogger(r *config.Resolved) *slog.Logger {
	if log := assemble.Log(r); log != nil {
		return log(redact.New(r.Secrets()...))
	}
	return slog.New(slog.DiscardHandler)
}
