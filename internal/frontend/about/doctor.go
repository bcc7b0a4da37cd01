package about

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/settle-agent/settle/internal/agents"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/sandbox"
	"github.com/settle-agent/settle/internal/terminal"
)

// Machine is the installation that Doctor checks.
type Machine struct {
	// JSON prints one JSON object instead of text. Verbose lists each mode of the sandbox.
	JSON, Verbose bool
	// Settings are the settings in force; nil if Broken has an error.
	Settings *config.Resolved
	Broken   error
	// Dir is the working directory.
	Dir     string
	Environ []string
	Getenv  func(string) string
	Version string
}

// finding is the result of one check.
type finding string

const (
	passed  finding = "ok"
	limited finding = "note" // works, with limits
	failed  finding = "fail" // does not work
)

// ErrCheckFailed reports that a check failed.
var ErrCheckFailed = errors.New("a check failed; the first lines say what to do")

// checkTimeout bounds each check.
const checkTimeout = 5 * time.Second

// check is one check with its result.
type check struct {
	Finding finding `json:"finding"`
	Check   string  `json:"check"`
	Message string  `json:"message"`
}

// doctor collects the results of checks.
type doctor struct {
	Machine
	checks []check
	model  string // in force
	// untried is the part of the model's check that was not done, in words; empty if the model's
	// server confirmed the model.
	untried string
}

// examination is the result of Doctor: a verdict, the action that it advises, and all checks.
type examination struct {
	OK      bool    `json:"ok"`
	Verdict string  `json:"verdict"`
	Do      string  `json:"do,omitempty"`
	Checks  []check `json:"checks"`
}

// Doctor checks the machine. It writes the verdict, the one thing to do, and a line for each check:
// failed checks come first. The error is ErrCheckFailed if a check failed.
func Doctor(ctx context.Context, to io.Writer, m Machine) error {
	d := &doctor{Machine: m}
	d.report(passed, "settle", "%s, %s/%s", m.Version, runtime.GOOS, runtime.GOARCH)
	d.configuration(ctx)
	d.dataDir(ctx)
	d.processTracking(ctx)
	d.confinement(ctx)
	d.program(ctx, "git", "settle cannot read safe.directory, and trusts no directory of another user", "--version")
	d.sandboxedGit(ctx)
	found := d.verdict()
	if err := found.write(to, m.JSON); err != nil {
		return err
	}
	if !found.OK {
		return ErrCheckFailed
	}
	return nil
}

func (d *doctor) report(f finding, what, format string, args ...any) {
	text := terminal.Text(redact.Diagnostic(fmt.Sprintf(format, args...)))
	d.checks = append(d.checks, check{f, what, text})
}

// verdict sorts the checks, and returns their verdict and the action that it advises.
func (d *doctor) verdict() examination {
	rank := func(c check) int { return slices.Index([]finding{failed, limited, passed}, c.Finding) }
	slices.SortStableFunc(d.checks, func(a, b check) int { return rank(a) - rank(b) })
	found := examination{OK: true, Verdict: "settle works here, with " + d.model, Checks: d.checks}
	if d.untried != "" {
		found.Verdict = "settle is configured, with " + d.model + "; " + d.untried
	}
	if first := d.checks[0]; first.Finding == failed {
		found.OK, found.Verdict, found.Do = false, "settle cannot work here yet", first.Message
		if what, do, ok := strings.Cut(first.Message, "\n"); ok {
			found.Verdict, found.Do = found.Verdict+": "+what, strings.TrimSpace(do)
		}
	}
	return found
}

// write writes the examination as text or JSON.
func (e examination) write(to io.Writer, asJSON bool) error {
	if asJSON {
		return listing.JSON(to, []examination{e})
	}
	text := e.Verdict + "\n"
	for line := range strings.Lines(e.Do) {
		text += "  " + strings.TrimSpace(line) + "\n"
	}
	text += "\n"
	for _, c := range e.Checks {
		line, _, _ := strings.Cut(c.Message, "\n")
		text += fmt.Sprintf("%-5s %-15s %s\n", c.Finding, c.Check, line)
	}
	if _, err := io.WriteString(to, terminal.Fold(text, terminal.Columns(to))); err != nil {
		return fmt.Errorf("cannot write to standard output: %w", err)
	}
	return nil
}

func (d *doctor) configuration(ctx context.Context) {
	r := d.Settings
	if r == nil {
		d.report(failed, "configuration", "%v", d.Broken)
		return
	}
	files := "no file"
	if len(r.Files) > 0 {
		files = strings.Join(r.Files, ", ")
	}
	d.report(passed, "configuration", "%s", files)
	sources := assemble.Options{Settings: r, Dir: d.Dir, Getenv: d.Getenv}
	if line := Imported(sources); line != "" {
		d.report(passed, "imported", "%s (settle config, settle hooks and settle skills list them)", line)
	}
	for _, note := range sources.InstructionNotes() {
		d.report(limited, "instructions", "%s", note)
	}
	for _, reason := range r.Refusals {
		d.report(failed, "plugins", "%s", reason)
	}
	for _, ignored := range r.Notes {
		if !slices.ContainsFunc(r.Refusals, func(reason string) bool { return strings.HasPrefix(reason, ignored) }) {
			d.report(limited, "configuration", "%s", ignored)
		}
	}
	d.chosenModel(ctx)
}

// dataDir creates a session and deletes it.
func (d *doctor) dataDir(ctx context.Context) {
	if d.Settings == nil {
		return
	}
	dir, err := d.Settings.NeedDataDir()
	if err != nil {
		d.report(failed, "data", "%v", err)
		return
	}
	session := "doctor-" + uuid.NewString()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	log, _, err := journal.Open(ctx, journal.Options{Dir: dir, Session: session})
	if err == nil {
		err = errors.Join(log.Close(ctx), journal.Delete(ctx, dir, session))
	}
	if err != nil {
		d.report(failed, "data", "%v", err)
		return
	}
	all, err := journal.List(dir)
	if err != nil {
		d.report(failed, "data", "%v", err)
		return
	}
	d.report(passed, "data", "%s, with %s", dir, terminal.Count(len(all), "session"))
	d.worktrees(dir)
}

// worktrees reports the git worktrees of sessions that settle has not removed.
func (d *doctor) worktrees(dir string) {
	kept, abandoned := agents.Remains(dir)
	if len(abandoned) > 0 {
		d.report(
			limited, "worktrees", "%s of sessions whose settle was ended before it could look for changes, in %s; "+
				"\"settle resume ID\" opens one, and leaves it properly (for a child agent, the ID of its parent; "+
				"for a deleted session, the next --worktree in its repository leaves it): %s",
			terminal.Count(len(abandoned), "git worktree"), agents.WorktreeDir(dir), strings.Join(abandoned, ", "),
		)
	}
	if len(kept) > 0 {
		d.report(
			passed, "worktrees", "%s with work or in use, in %s",
			terminal.Count(len(kept), "git worktree"), agents.WorktreeDir(dir),
		)
	}
}

// processTracking starts a command and ends it.
func (d *doctor) processTracking(ctx context.Context) {
	c := proc.Tracking()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	shell := "sh"
	argv := []string{shell, "-c", "exit 0"}
	if runtime.GOOS == "windows" {
		argv = []string{"cmd.exe", "/c", "exit 0"}
	}
	if out, err := proc.Run(
		ctx, proc.Command{Argv: argv, Dir: assemble.Nowhere(), Env: assemble.Helper(d.Environ)},
	); err != nil || !out.OK() {
		d.report(failed, "commands", "cannot run %q: %v (exit code %d)", argv[0], err, out.Code)
		return
	}
	d.report(passed, "commands", "tracked by %s", c.Kind)
	for _, weaker := range c.Weaker {
		d.report(limited, "commands", "%s", weaker)
	}
}

// confinement runs the sandbox probes of each kind of sandbox (C22).
func (d *doctor) confinement(ctx context.Context) {
	if err := proc.Confines(); err != nil {
		d.report(
			limited, "sandbox",
			"commands run without a sandbox; settle judges from the text of a command whether it only reads: %v", err,
		)
		return
	}
	if sandbox.UntestedNote != "" {
		d.report(limited, "sandbox", "%s", sandbox.UntestedNote)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	proxy := egress.NewProxy(nil, egress.Dialer{})
	defer proxy.Close()
	anywhere := []string{"/"}
	var modes sandboxModes
	for _, kind := range []struct {
		name   string
		policy sandbox.Policy
	}{
		{"read-only", sandbox.Policy{}},
		{"read-only that sees no other processes", sandbox.Policy{OwnProcesses: true}},
		{"workspace", sandbox.Policy{Write: anywhere}},
		{"workspace with a view of its own (modes, owners, .git/hooks)", sandbox.Policy{Write: anywhere, View: true}},
		{
			"workspace that sees no other processes",
			sandbox.Policy{Write: anywhere, View: true, OwnNetwork: true, OwnProcesses: true},
		},
		{"workspace with a network", sandbox.Policy{Write: anywhere, Network: sandbox.Online}},
		{"workspace with a proxy", sandbox.Policy{Write: anywhere, Network: sandbox.Proxied}},
		{
			"workspace with a proxy, in a network of its own",
			sandbox.Policy{Write: anywhere, View: true, OwnNetwork: true, Network: sandbox.Proxied},
		},
	} {
		if kind.policy.OwnNetwork && kind.policy.Network == sandbox.Proxied && sandbox.KnowsAddresses {
			continue
		}
		tried, err := proc.Prove(ctx, kind.policy, proxy)
		switch {
		case err != nil && (kind.policy.View || kind.policy.OwnProcesses):
			modes.missing = append(modes.missing, fmt.Sprintf("%s: %v", kind.name, err))
		case err != nil:
			modes.failed = append(modes.failed, fmt.Sprintf("%s: %v", kind.name, err))
		default:
			modes.enforced = append(modes.enforced, fmt.Sprintf("%s: all %d escape attempts failed", kind.name, tried))
			modes.attempts += tried
		}
	}
	modes.report(d)
	if why := d.outside(); why != "" {
		d.report(
			limited, "sandbox",
			"commands are not sandboxed in this directory, because it %s; they can be in a project's directory", why,
		)
	}
}

// outside returns the reason why commands are not sandboxed in the working directory; empty if they can be.
func (d *doctor) outside() string {
	if d.Settings == nil || d.Settings.Executor != "" || d.Settings.Sandbox.Use == config.SandboxOff {
		return ""
	}
	return assemble.Protected(d.Settings, d.Getenv, d.Dir)
}

// sandboxModes has the results of probing the sandbox's modes.
type sandboxModes struct {
	enforced, missing, failed []string
	attempts                  int // in the enforced modes
}

// report reports the modes: a line for each finding, or with all details a line for each mode.
func (m sandboxModes) report(d *doctor) {
	by := strings.Join(sandbox.Layers(), ", ")
	if d.Verbose || d.JSON {
		for _, mode := range m.failed {
			d.report(failed, "sandbox", "%s", mode)
		}
		for _, mode := range m.missing {
			d.report(limited, "sandbox", "not enforced, it needs user namespaces: %s", mode)
		}
		for _, mode := range m.enforced {
			d.report(passed, "sandbox", "enforced by %s: %s", by, mode)
		}
		return
	}
	if n := len(m.failed); n > 0 {
		d.report(failed, "sandbox", "%s not enforced (-v lists them): %s", terminal.Count(n, "mode"), m.failed[0])
	}
	if n := len(m.missing); n > 0 {
		d.report(
			limited, "sandbox", "%s not enforced (-v lists them), user namespaces are missing: %s",
			terminal.Count(n, "mode"), m.missing[0],
		)
	}
	if n := len(m.enforced); n > 0 {
		use := ""
		isOff := d.Settings != nil && d.Settings.Sandbox.Use == config.SandboxOff
		if len(m.failed) == 0 && !isOff && d.outside() == "" {
			use = "commands in the terminal can run sandboxed, without a question; "
		}
		d.report(
			passed, "sandbox", "%sa self-test of %s of sandbox (%s) tried to escape in %d ways, and none succeeded",
			use, terminal.Count(n, "kind"), by, m.attempts,
		)
	}
}

// program checks an optional program.
func (d *doctor) program(ctx context.Context, name, without string, args ...string) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	out, err := proc.Run(
		ctx,
		proc.Command{Argv: append([]string{name}, args...), Dir: assemble.Nowhere(), Env: assemble.Helper(d.Environ)},
	)
	if err != nil || !out.OK() {
		d.report(limited, name, "not found: %s", without)
		return
	}
	line, _, _ := strings.Cut(string(out.Stdout), "\n")
	d.report(passed, name, "%s", line)
}

// sandboxedGit reports a configuration of git that git cannot read in the sandbox.
func (d *doctor) sandboxedGit(ctx context.Context) {
	if d.Settings == nil || d.Settings.Executor != "" || d.Settings.Sandbox.Use == config.SandboxOff ||
		proc.Confines() != nil || d.outside() != "" || d.checks[len(d.checks)-1].Finding != passed { // there is no git
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	o := assemble.ExecutorOptions{
		Settings: d.Settings, Dir: d.Dir, Environ: d.Environ, Getenv: d.Getenv, Version: d.Version,
	}
	if err := o.CheckSandboxedGit(ctx); err != nil {
		d.report(limited, "git", "git cannot read its configuration in the sandbox of commands: %v", err)
	}
}
