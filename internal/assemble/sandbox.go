package assemble

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/sandbox"
	"github.com/settle-agent/settle/tool/shell"
)

// sandboxing is how the commands of an agent's sessions are confined.
type sandboxing struct {
	config.Sandbox
	dir  string // the working directory, without links
	home string
	// chosen says that the user has chosen, and not the face.
	chosen bool
	// byMode leaves it to the modes of a protocol which of them confine.
	byMode bool
	// missing is why commands cannot be confined to a workspace; nil if they can.
	missing error
	tried   int // ways out, none of which led out
	// viewless is why commands have no view of the files of their own; nil if they
	// have one.
	viewless error
}

// What canaries found out, once in this process: of a box that reads, of one that
// changes files, and of one that has the network as well.
var (
	proveReading  = sync.OnceValues(func() (int, error) { return prove(sandbox.Policy{}) })
	proveWorking  = sync.OnceValues(func() (int, error) { return prove(sandbox.Policy{Write: []string{"/"}}) })
	proveViewing  = sync.OnceValues(func() (int, error) { return prove(sandbox.Policy{Write: []string{"/"}, View: true}) })
	proveReaching = sync.OnceValues(func() (int, error) { return prove(sandbox.Policy{Write: []string{"/"}, Network: sandbox.Online}) })
)

func prove(p sandbox.Policy) (int, error) { return proc.Prove(context.Background(), p) }

// prove tries out the boxes that sessions rely on (C22).
func (s *sandboxing) prove() (tried int, err error) {
	list := []func() (int, error){proveReading}
	if s.Mode == event.Workspace || s.byMode {
		if _, s.viewless = proveViewing(); s.viewless == nil {
			list = append(list, proveViewing)
		} else {
			list = append(list, proveWorking)
		}
	}
	if s.Network == "on" || s.byMode {
		list = append(list, proveReaching)
	}
	for _, prove := range list {
		n, failed := prove()
		tried, err = tried+n, errors.Join(err, failed)
	}
	return tried, err
}

// SandboxByMode is, for Options.Sandbox, auto in modes that name a sandbox, and off
// in others.
const SandboxByMode = "by mode"

// sandboxing finds out what can be had. It is an error if that is less than what
// is required (C22).
func (o Options) sandboxing(f *far) (sandboxing, error) {
	s := sandboxing{Sandbox: o.Settings.Sandbox, dir: o.Dir, home: o.Getenv("HOME"), chosen: o.Settings.Sandbox.Use != ""}
	s.Use = cmp.Or(s.Use, o.Sandbox, config.SandboxOff)
	if s.Use == SandboxByMode {
		s.Use, s.byMode = config.SandboxAuto, true
	}
	if real, err := filepath.EvalSymlinks(s.dir); err == nil {
		s.dir = real
	}
	if s.Use == config.SandboxOff {
		return s, nil
	}
	if f != nil { // it is confined there, if it can be
		s.dir, s.home, s.Network, s.tried, s.missing = f.machine.Dir, f.machine.Home, f.network, f.tried, f.missing
	} else if s.missing = s.place(o.Settings.DataDir); s.missing == nil {
		s.tried, s.missing = s.prove()
	}
	if s.missing == nil && s.viewless != nil && s.Use == config.SandboxRequired {
		s.missing = fmt.Errorf("%s; it takes user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0), or --sandbox-mode read-only: %w", gap, s.viewless)
	}
	if s.missing != nil && s.Use == config.SandboxRequired {
		return s, &config.Error{Where: "sandbox", Message: fmt.Sprintf("it is required, and there is none: %v", s.missing)}
	}
	return s, nil
}

// gap is what a workspace lacks without a view of the files.
const gap = "modes, owners and times of files outside, and .git/hooks, .git/config and .settle inside, can be changed"

// place refuses a working directory that holds what a sandbox keeps commands from:
// nothing can be taken out of a folder that they may change.
func (s sandboxing) place(dataDir string) error {
	for _, kept := range []struct{ what, path string }{{"your home directory", s.home}, {"settle's data directory", dataDir}} {
		path := kept.path
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if path != "" && sandbox.Above(s.dir, path) {
			return fmt.Errorf("the working directory %s contains %s", s.dir, kept.what)
		}
	}
	return nil
}

// of is what commands are confined to in a mode. What the user has chosen is a
// bound for what a client wishes; what the face has chosen is not for those who
// want no questions.
func (s sandboxing) of(m policy.Mode) event.Sandbox {
	switch {
	case s.Use == config.SandboxOff || s.missing != nil:
		return event.NoSandbox
	case s.chosen:
		return policy.Stricter(s.Mode, cmp.Or(m.Sandbox, event.NoSandbox))
	case m.Sandbox != "":
		return m.Sandbox
	case s.byMode, m.Permission == event.Allow:
		return event.NoSandbox
	}
	return s.Mode
}

// report is what the log says of it.
func (s *sandboxing) report(m policy.Mode) *event.Confinement {
	c := &event.Confinement{Mode: s.of(m)}
	if s.missing != nil {
		c.Missing = s.missing.Error()
	}
	if c.Mode.On() {
		c.Network, c.By, c.Tried = s.Network, sandbox.Layers(), s.tried
		switch {
		case c.Mode != event.Workspace:
		case s.viewless != nil:
			c.Gaps = []string{gap}
		default:
			c.By = append(c.By, "mounts")
		}
	}
	return c
}

// notes are for the user, where there is less than was asked for.
func (s sandboxing) notes() []string {
	if s.missing == nil {
		return nil
	}
	return []string{fmt.Sprintf("commands run without a sandbox: %v", s.missing)}
}

// boxes makes the boxes of a session's commands.
type boxes struct {
	sandboxing
	bench
	extent func() policy.Extent
	data   string // settle's data directory; only for other machines

	mu      sync.Mutex // guards what follows
	private string     // directory of the session's own; "" until it is needed
}

// box is what a command is confined to, with its environment in addition.
func (b *boxes) box(kind event.Sandbox, dir string) (shell.Box, error) {
	home, path := variable(b.env, "HOME"), variable(b.env, "PATH")
	read, write := []string{b.dir}, []string{b.dir}
	if real, err := filepath.EvalSymlinks(dir); err != nil || !sandbox.Above(b.dir, real) {
		dir = b.dir // elsewhere, there is nothing to read by being there
	}
	if git, err := repo.FindGit(dir); err == nil && git.Top != "" {
		if read = append(read, git.Own, git.Common); !sandbox.Above(git.Top, b.home) {
			read = append(read, git.Top)
		}
		if sandbox.Above(git.Top, b.dir) { // else it is another one, that the working directory is not in
			write = append(write, git.Own, git.Common)
		}
	}
	read = append(append(read, b.paths(b.Read)...), b.skills.folders()...)
	switch kind {
	case event.ReadOnly:
		return shell.Box{Read: sandbox.ReadOnly(home, path, read...).Read}, nil
	case event.Workspace:
	default:
		return shell.Box{}, fmt.Errorf("there is no sandbox %q", kind)
	}
	private, err := b.own()
	if err != nil {
		return shell.Box{}, err
	}
	more, network := policy.Extent{}, b.Network
	if b.extent != nil && !b.chosen { // a client does not loosen what the user has chosen
		more = b.extent()
	}
	write = append(append(write, b.paths(b.Write)...), more.Write...)
	tmp, cache := filepath.Join(private, "tmp"), b.cache(private)
	p := sandbox.Workspace(home, path, read, append(write, tmp, cache))
	return shell.Box{Read: p.Read, Write: p.Write, View: b.viewless == nil, Protect: protected(p.Write), Online: cmp.Or(more.Network, network) == "on", Env: []string{
		"TMPDIR=" + tmp, "XDG_CACHE_HOME=" + cache, "GOCACHE=" + filepath.Join(cache, "go-build"), "npm_config_cache=" + filepath.Join(cache, "npm"),
		"PIP_CACHE_DIR=" + filepath.Join(cache, "pip"),
	}}, nil
}

// protected are the files in folders that others obey later: git, shells, editors,
// and settle.
func protected(folders []string) (list []string) {
	for _, dir := range folders {
		names := []string{".settle", ".envrc", ".bashrc", ".bash_profile", ".profile", ".zshrc", ".vscode", ".idea", ".mcp.json", ".git/hooks", ".git/config", ".git/config.worktree"}
		if filepath.Base(dir) == ".git" || filepath.Base(filepath.Dir(dir)) == "worktrees" {
			names = []string{"hooks", "config", "config.worktree"}
		}
		for _, name := range names {
			if path := filepath.Join(dir, filepath.FromSlash(name)); exists(path) {
				list = append(list, path)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// exists reports whether there is such a file, and no link: one could not be pinned.
func exists(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSymlink == 0
}

// paths are those that the user has added, absolute.
func (b *boxes) paths(list []string) []string {
	var out []string
	for _, path := range list {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(b.home, rest)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(b.dir, path)
		}
		out = append(out, path)
	}
	return out
}

// own returns the session's private directory for temporary files, which is
// removed with the session.
func (b *boxes) own() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.private != "" {
		return b.private, nil
	}
	dir, err := os.MkdirTemp("", "settle-box-")
	if err != nil {
		return "", fmt.Errorf("cannot make a directory for temporary files: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err == nil {
		err = os.Mkdir(filepath.Join(dir, "tmp"), 0o700)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	b.private = dir
	return dir, nil
}

// cache is what boxed commands of the workspace fetch and build: of their own,
// since what they leave in the user's would be run outside of the box.
func (b *boxes) cache(private string) string {
	base := variable(b.env, "XDG_CACHE_HOME")
	if base == "" && filepath.IsAbs(b.home) {
		base = filepath.Join(b.home, ".cache")
	}
	sum := sha256.Sum256([]byte(b.dir))
	dir := filepath.Join(base, "settle", "box", hex.EncodeToString(sum[:8]))
	if !filepath.IsAbs(base) || os.MkdirAll(dir, 0o700) != nil {
		dir = filepath.Join(private, "cache")
		_ = os.MkdirAll(dir, 0o700) // a grant that names nothing grants nothing
	}
	return dir
}

// discard removes what is private.
func (b *boxes) discard() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.private == "" {
		return nil
	}
	return os.RemoveAll(b.private)
}
