package about

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
	"github.com/settle-agent/settle/internal/terminal"
)

// Machine is what the doctor looks at.
type Machine struct {
	// Settings are what is in force; nil with Broken, which says why.
	Settings *config.Resolved
	Broken   error
	Environ  []string
	Getenv   func(string) string
	Version  string
}

// finding is the result of one look.
type finding string

const (
	good finding = "ok"
	note finding = "note" // works, with less
	bad  finding = "BAD"  // does not work
)

// ErrCheckFailed says that something does not work.
var ErrCheckFailed = errors.New("something does not work; see above")

const lookTimeout = 5 * time.Second

// doctor writes findings.
type doctor struct {
	Machine
	to     io.Writer
	unwell bool
	err    error // of writing
}

// Doctor looks at the machine and writes what it finds. Its error is ErrCheckFailed
// if something does not work.
func Doctor(ctx context.Context, to io.Writer, m Machine) error {
	d := &doctor{Machine: m, to: to}
	d.say(good, "settle", "%s, %s/%s", m.Version, runtime.GOOS, runtime.GOARCH)
	d.configuration()
	d.dataDir(ctx)
	d.custody(ctx)
	d.box(ctx)
	d.program(ctx, "git", "a directory of another user is never trusted, whatever safe.directory says", "--version")
	d.program(ctx, "rg", "settle uses its own search, which is slower", "--version")
	switch {
	case d.err != nil:
		return d.err
	case d.unwell:
		return ErrCheckFailed
	}
	return nil
}

func (d *doctor) say(f finding, what, format string, args ...any) {
	d.unwell = d.unwell || f == bad
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.to, "%-5s %-15s %s\n", f, what, terminal.Text(fmt.Sprintf(format, args...)))
	}
}

func (d *doctor) configuration() {
	r := d.Settings
	if r == nil {
		d.say(bad, "configuration", "%v", d.Broken)
		return
	}
	files := "no file"
	if len(r.Files) > 0 {
		files = strings.Join(r.Files, ", ")
	}
	d.say(good, "configuration", "%s", files)
	for _, ignored := range r.Notes {
		d.say(note, "configuration", "%s", ignored)
	}
	for _, name := range []string{"openai", "anthropic", "gemini", "chat"} {
		p := r.Providers[name]
		if p.KeyEnv == "" {
			continue
		}
		if d.Getenv(p.KeyEnv) == "" {
			d.say(note, "key", "%s is not set, for %s", p.KeyEnv, name)
			continue
		}
		d.say(good, "key", "%s is set, for %s at %s", p.KeyEnv, name, p.BaseURL)
	}
	choice, err := r.Choose()
	if err != nil {
		d.say(bad, "model", "%v", err)
		return
	}
	d.say(good, "model", "%s/%s", choice.Provider.Name, choice.Model)
}

// dataDir makes a session and deletes it.
func (d *doctor) dataDir(ctx context.Context) {
	if d.Settings == nil {
		return
	}
	dir, err := d.Settings.NeedDataDir()
	if err != nil {
		d.say(bad, "data", "%v", err)
		return
	}
	session := "doctor-" + uuid.NewString()
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	log, _, err := journal.Open(ctx, journal.Options{Dir: dir, Session: session})
	if err == nil {
		err = errors.Join(log.Close(ctx), journal.Delete(ctx, dir, session))
	}
	if err != nil {
		d.say(bad, "data", "%v", err)
		return
	}
	all, err := journal.List(dir)
	if err != nil {
		d.say(bad, "data", "%v", err)
		return
	}
	d.say(good, "data", "%s, with %d sessions", dir, len(all))
}

// custody starts a command and ends it, to check process tracking.
func (d *doctor) custody(ctx context.Context) {
	c := proc.Tracking()
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	shell := "sh"
	argv := []string{shell, "-c", "exit 0"}
	if runtime.GOOS == "windows" {
		argv = []string{"cmd.exe", "/c", "exit 0"}
	}
	if out, err := proc.Run(ctx, proc.Command{Argv: argv, Dir: assemble.Nowhere(), Env: assemble.Helper(d.Environ)}); err != nil || !out.OK() {
		d.say(bad, "commands", "cannot run %q: %v (exit code %d)", argv[0], err, out.Code)
		return
	}
	d.say(good, "commands", "tracked by %s", c.Kind)
	for _, weaker := range c.Weaker {
		d.say(note, "commands", "%s", weaker)
	}
}

// box has canaries try out whether commands are confined (C22).
func (d *doctor) box(ctx context.Context) {
	if err := proc.Confines(); err != nil {
		d.say(note, "sandbox", "commands run without a sandbox, and those that only read by the judge's word alone: %v", err)
		return
	}
	if sandbox.UntestedNote != "" {
		d.say(note, "sandbox", "%s", sandbox.UntestedNote)
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	gate := egress.NewProxy(nil, egress.Dialer{})
	defer gate.Close()
	anywhere := []string{"/"}
	for _, kind := range []struct {
		name   string
		policy sandbox.Policy
	}{
		{"read-only", sandbox.Policy{}},
		{"read-only that sees no other processes", sandbox.Policy{OwnProcesses: true}},
		{"workspace", sandbox.Policy{Write: anywhere}},
		{"workspace with a view of its own (modes, owners, .git/hooks)", sandbox.Policy{Write: anywhere, View: true}},
		{"workspace that sees no other processes", sandbox.Policy{Write: anywhere, View: true, OwnNetwork: true, OwnProcesses: true}},
		{"workspace with a network", sandbox.Policy{Write: anywhere, Network: sandbox.Online}},
		{"workspace with a proxy", sandbox.Policy{Write: anywhere, Network: sandbox.Proxied}},
		{"workspace with a proxy, in a network of its own", sandbox.Policy{Write: anywhere, View: true, OwnNetwork: true, Network: sandbox.Proxied}},
	} {
		if kind.policy.OwnNetwork && kind.policy.Network == sandbox.Proxied && sandbox.KnowsAddresses {
			continue
		}
		tried, err := proc.Prove(ctx, kind.policy, gate)
		switch {
		case err != nil && (kind.policy.View || kind.policy.OwnProcesses):
			d.say(note, "sandbox", "%s is not enforced; it takes namespaces: %v", kind.name, err)
			continue
		case err != nil:
			d.say(bad, "sandbox", "%s: %v", kind.name, err)
			continue
		}
		d.say(good, "sandbox", "%s is enforced by %s: %d ways out were tried, and none led out", kind.name, strings.Join(sandbox.Layers(), ", "), tried)
	}
}

// program looks for one that settle can do without.
func (d *doctor) program(ctx context.Context, name, without string, args ...string) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	out, err := proc.Run(ctx, proc.Command{Argv: append([]string{name}, args...), Dir: assemble.Nowhere(), Env: assemble.Helper(d.Environ)})
	if err != nil || !out.OK() {
		d.say(note, name, "not found: %s", without)
		return
	}
	line, _, _ := strings.Cut(string(out.Stdout), "\n")
	d.say(good, name, "%s", line)
}
