package assemble

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agents"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/repo/quarantine"
	"github.com/settle-agent/settle/internal/sandbox"
	"github.com/settle-agent/settle/tool/shell"
)

// sandboxing is the sandbox configuration of an agent's sessions, with the results of the
// probes.
type sandboxing struct {
	config.Sandbox
	dir  string // the working directory, without links
	home string
	// configDir is the directory of settle's configuration; "" if it is unknown.
	configDir string
	dataDir   string // settle's own; "" for none
	// userFiles are the files and folders of the user that settle, git and shells obey; nil if
	// commands run on another machine.
	userFiles []string
	userEnv   []string // the environment of the user
	// chosen reports that the user configured the sandbox, and not the frontend.
	chosen bool
	// byMode lets the modes of a protocol choose the sandbox.
	byMode bool
	// unasked is [PermissionOptions.Unasked].
	unasked bool
	// missing is the reason why commands cannot be confined to a workspace; nil if they
	// can.
	missing error
	tried   int // number of probed escapes, none of which succeeded
	layers
}

// SandboxByMode is a value of Options.Sandbox: auto in modes that name a sandbox, and off
// in other modes.
const SandboxByMode = "by mode"

// sandboxUse returns the value of sandbox.use in force. With reviews, the default is auto: a
// command without a sandbox is not reviewed.
func (o Options) sandboxUse() string {
	byDefault := config.SandboxOff
	if o.permission() == event.Review || o.Settings.Permission == event.Review {
		byDefault = config.SandboxAuto
	}
	return cmp.Or(o.Settings.Sandbox.Use, o.Sandbox, byDefault)
}

// sandboxing determines the available sandbox. It fails if that is less than required
// (C22).
func (o Options) sandboxing(remote *remoteTools) (sandboxing, error) {
	s := sandboxing{
		Sandbox: o.Settings.Sandbox, dir: o.Dir, home: o.Getenv("HOME"),
		configDir: configDir(o.Getenv),
		dataDir:   o.Settings.DataDir,
		userEnv:   o.Environ,
		chosen:    o.Settings.Sandbox.Use != "",
		unasked:   o.Unasked,
	}
	s.Use = o.sandboxUse()
	if s.Use == SandboxByMode {
		s.Use, s.byMode = config.SandboxAuto, true
	}
	if real, err := filepath.EvalSymlinks(s.dir); err == nil {
		s.dir = real
	}
	var misplaced error
	if remote == nil {
		s.userFiles = slices.Concat(
			config.UserPlaces(runtime.GOOS, o.Getenv), s.gitConfigs(), s.startFiles(),
		)
		misplaced = s.place()
		s.markWritable(misplaced == nil, variable(o.Environ, "XDG_CACHE_HOME"))
	}
	if s.Use == config.SandboxOff {
		return s, nil
	}
	if remote != nil { // the executor confines commands, if it can
		s.dir, s.home, s.Network, s.tried, s.missing, s.layers = remote.machine.Dir, remote.machine.Home,
			remote.network, remote.tried, remote.missing, remote.layers
	} else if s.missing = misplaced; s.missing == nil {
		if len(o.OutOfReach) > 0 {
			s.missing = s.place(o.OutOfReach...)
		}
		if s.missing == nil {
			s.tried, s.missing = s.prove()
		}
	}
	if gaps, why := s.holes(); s.missing == nil && len(gaps) > 0 && s.Use == config.SandboxRequired {
		s.missing = fmt.Errorf(
			"%s; it takes user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0), or --sandbox-mode read-only: %w",
			strings.Join(gaps, "; "),
			why,
		)
	}
	if s.missing != nil && s.Use == config.SandboxRequired {
		return s, &config.Error{
			Where:   "sandbox",
			Message: fmt.Sprintf("it is required, and there is none: %v", s.missing),
		}
	}
	return s, nil
}

// protectedFolder is a folder that sandboxed commands must not write.
type protectedFolder struct {
	name, path string
	// around means that a writable folder within it is refused also.
	around bool
}

// protectedFolders returns the folders whose files settle or another agent obeys outside
// of the sandbox, and the home directory around them.
func (s sandboxing) protectedFolders(outOfReach []string) []protectedFolder {
	list := []protectedFolder{
		{"your home directory", s.home, false},
		{"settle's data directory", s.dataDir, true},
		{"settle's configuration", s.configDir, true},
	}
	if s.home != "" {
		for _, name := range []string{".claude", ".codex"} {
			list = append(list, protectedFolder{"~/" + name, filepath.Join(s.home, name), true})
		}
	}
	for _, path := range outOfReach {
		list = append(list, protectedFolder{path, path, false})
	}
	return list
}

// place refuses a working directory or a folder of sandbox.write that contains a protected
// folder or is in one, because a writable folder cannot exclude a part of itself. The
// worktrees of child agents are in the data directory, and allowed.
func (s sandboxing) place(outOfReach ...string) error {
	if why := s.overlap(s.dir, outOfReach...); why != "" {
		return fmt.Errorf("the working directory %s %s", real(s.dir), why)
	}
	for _, path := range s.paths(s.Write) {
		if why := s.overlap(path, outOfReach...); why != "" {
			return fmt.Errorf("the folder of sandbox.write %s %s", real(path), why)
		}
	}
	return nil
}

// overlap returns the reason why commands must not write a folder: it contains a protected
// folder, or is in one. The reason is empty for other folders.
func (s sandboxing) overlap(writable string, outOfReach ...string) string {
	writable = real(writable)
	if filepath.Dir(writable) == writable {
		return "is the root of the file system"
	}
	if s.dataDir != "" && disk.Within(real(agents.WorktreeDir(s.dataDir)), writable) {
		return ""
	}
	for _, kept := range s.protectedFolders(outOfReach) {
		path := real(kept.path)
		if path == filepath.Clean(kept.path) { // it can be missing, behind a link
			path = filepath.Join(real(filepath.Dir(kept.path)), filepath.Base(kept.path))
		}
		switch {
		case kept.path == "":
		case disk.Within(writable, path):
			return "contains " + kept.name
		case kept.around && disk.Within(path, writable):
			return "is in " + kept.name
		}
	}
	return ""
}

// markWritable has settle find none of its own programs in the folders that commands and
// file tools can change. A working directory that no sandbox accepts holds the user's own
// programs, and everything in it is the user's decision.
// accepted reports the result of place.
func (s sandboxing) markWritable(accepted bool, cacheHome string) {
	if accepted {
		proc.MarkWritable(append(s.paths(s.Write), s.dir)...)
	}
	if base := cacheBase(cacheHome, s.home); base != "" {
		proc.MarkWritable(base)
	}
}

// configDir returns the directory of settle's configuration.
func configDir(getenv func(string) string) string {
	if file := config.UserFile(runtime.GOOS, getenv); file != "" {
		return filepath.Dir(file)
	}
	return ""
}

// cacheBase is the folder with the caches of sandboxed commands; "" if there is none.
func cacheBase(cacheHome, home string) string {
	if cacheHome == "" && filepath.IsAbs(home) {
		cacheHome = filepath.Join(home, ".cache")
	}
	if !filepath.IsAbs(cacheHome) {
		return ""
	}
	return filepath.Join(cacheHome, "settle", "box")
}

// of returns the sandbox of commands in a mode. The user's choice bounds a client's wish;
// the frontend's choice does not apply if the user allows everything.
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

// writes returns the function that reports whether sandboxed commands can change files at a path. It does
// not know which files in these folders are protected.
func (s sandboxing) writes(mode func() Mode) func(event.Sandbox, string) bool {
	return func(confined event.Sandbox, path string) bool {
		if disk.Within("/dev", path) {
			return true
		}
		if confined != event.Workspace {
			return false
		}
		more := mode().Extent
		return slices.ContainsFunc(slices.Concat([]string{s.dir}, s.paths(s.Write), more.Write, more.Temporary),
			func(dir string) bool { return disk.Within(real(dir), path) })
	}
}

// report describes the sandbox for the log.
func (s *sandboxing) report(m policy.Mode) *event.Confinement {
	if m.Plan { // the sandbox of the work
		m.Sandbox = ""
	}
	c := &event.Confinement{Mode: s.of(m)}
	if s.missing != nil {
		c.Missing = s.missing.Error()
	}
	if c.Mode.On() {
		c.Network, c.By, c.Tried = s.Network, sandbox.Layers(), s.tried
		if sandbox.UntestedNote != "" {
			c.Gaps = []string{sandbox.UntestedNote}
		}
		if s.crowded == nil {
			c.By = append(c.By, "processes")
		} else {
			c.Gaps = append(c.Gaps, processGap)
		}
		if c.Mode != event.Workspace {
			return c
		}
		gaps, _ := s.holes()
		c.Gaps = append(c.Gaps, gaps...)
		c.Gaps = append(c.Gaps, s.unread()...)
		for _, path := range slices.Concat(s.paths(s.Write), m.Extent.Write, m.Extent.Temporary) {
			if s.viewless != nil && sandbox.ViewLayer != "" && s.around(path) {
				c.Gaps = append(c.Gaps, fmt.Sprintf(aroundGap, path))
			}
		}
		if s.Git == config.GitWrite && s.viewless == nil {
			c.Gaps = append(c.Gaps, gitGap)
		}
		if s.viewless == nil && sandbox.ViewLayer != "" {
			c.By = append(c.By, sandbox.ViewLayer)
		}
		if s.joined == nil && s.Network != "on" {
			c.By = append(c.By, "namespaces")
		}
	}
	return c
}

// notes tell the user that the sandbox is less than requested.
func (s sandboxing) notes() []string {
	if s.missing == nil {
		return nil
	}
	return []string{fmt.Sprintf("commands run without a sandbox: %v", s.missing)}
}

// sandboxes makes the sandboxes of a session's commands.
type sandboxes struct {
	sandboxing
	*confinement
	repositories *executor.Repositories
	unjudged     *unjudged

	mu      sync.Mutex    // guards the fields below, and layers
	private *disk.Scratch // the session's private directory; nil before its first use
	open    []string      // see noteAbsent
	kept    []string      // repositories that no command can change, as of the last area
}

// found returns the available layers.
func (b *sandboxes) found() layers {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.layers
}

// newSandboxes makes the sandboxes of a session with a marker, or of an executor for
// sessions of other hosts.
func newSandboxes(s sandboxing, c *confinement, marker string) *sandboxes {
	b := &sandboxes{sandboxing: s, confinement: c, unjudged: newUnjudged(s.dataDir, s.dir, marker)}
	b.repositories = &executor.Repositories{Guard: quarantine.New(), Area: func() quarantine.Area {
		b.noteAbsent()
		a := b.area()
		a.Unjudged = b.unjudged.begin(slices.DeleteFunc(slices.Clone(a.Obeyed), disk.Exists))
		return a
	}}
	b.repositories.Exclusion = &c.guards.Exclusion
	c.guards.add(b)
	return b
}

// repository returns the repository around the directory; the zero value is none.
func (b *sandboxes) repository(dir string) (git repo.Git, around bool) {
	if real, err := filepath.EvalSymlinks(dir); err != nil || !disk.Within(b.dir, real) {
		dir = b.dir // a directory outside grants no additional read access
	}
	git, err := repo.FindGit(dir)
	if err != nil {
		git = repo.Git{}
	}
	// otherwise the working directory is in another repository
	return git, git.Top != "" && disk.Within(git.Top, b.dir)
}

// sandbox returns the sandbox of a command, with its additional environment.
func (b *sandboxes) sandbox(kind event.Sandbox, secrets event.Secrets, dir string) (shell.Sandbox, error) {
	confined, err := b.withSecrets(kind, dir)
	if err == nil && secrets == event.SecretsWithheld {
		confined, err = b.hiding(confined, dir)
	}
	if err != nil {
		return shell.Sandbox{}, err
	}
	return b.showEmpty(confined), nil
}

// withSecrets returns the sandbox of a command that receives all secrets in its reach.
func (b *sandboxes) withSecrets(kind event.Sandbox, dir string) (shell.Sandbox, error) {
	home, path := variable(b.env, "HOME"), variable(b.env, "PATH")
	read, write := []string{b.dir}, []string{b.dir}
	git, around := b.repository(dir)
	if git.Top != "" {
		if read = append(read, git.Own, git.Common); !disk.Within(git.Top, b.home) {
			read = append(read, git.Top)
		}
		if around && b.Git == config.GitWrite {
			write = append(write, git.Own, git.Common)
		}
	}
	read = slices.Concat(read, b.paths(b.Read), b.skills.folders(), b.plugins)
	more := b.wishes()
	write = append(write, b.added()...)
	read = append(read, b.includes(write).readable...)
	switch kind {
	case event.ReadOnly:
		return shell.Sandbox{
			Read:         sandbox.ReadOnly(home, path, read...).Steady(write).Read,
			OwnProcesses: b.readsAlone(),
		}, nil
	case event.Workspace:
	default:
		return shell.Sandbox{}, fmt.Errorf("there is no sandbox %q", kind)
	}
	private, err := b.own()
	if err != nil {
		return shell.Sandbox{}, err
	}
	network, own := b.network(more.Network), b.found()
	tmp, cache := filepath.Join(private, "tmp"), b.cache(private)
	write = append(write, tmp, cache)
	proc.MarkWritable(write...)
	p := sandbox.Workspace(home, path, read, write).Steady(write)
	obeyed := b.protects(write, b.repositories.Pointers())
	protect := slices.Concat(obeyed.Existing, obeyed.Links, b.keptInside(write))
	return shell.Sandbox{
		Read: p.Read, Write: p.Write, View: own.viewless == nil, Protect: protect,
		Pinned: []string{b.dir, tmp, cache}, Network: network,
		Apart: own.joined == nil && network != "on", OwnProcesses: own.crowded == nil, Env: []string{
			"GIT_OPTIONAL_LOCKS=0", "TMPDIR=" + tmp, "XDG_CACHE_HOME=" + cache,
			"GOCACHE=" + filepath.Join(cache, "go-build"), "npm_config_cache=" + filepath.Join(cache, "npm"),
			"PIP_CACHE_DIR=" + filepath.Join(cache, "pip"),
		},
	}, nil
}

// readsAlone reports whether reading commands see only their own processes. With the
// sandbox off no probe has run yet, but such commands are sandboxed anyway.
func (b *sandboxes) readsAlone() bool {
	if b.Use == config.SandboxOff {
		_, err := proven().prove(kind{ownProcesses: true})
		return err == nil
	}
	return b.found().crowded == nil
}

// network returns the network of a command for a client's wish; "" for no wish. A proxy is
// always the user's own configuration.
func (b *sandboxes) network(requested string) string {
	if b.Network == "proxy" && requested != "off" {
		return b.Network
	}
	return cmp.Or(requested, b.Network)
}

// keepsGit reports whether whole repositories are read-only. Without an own view of the
// files, only the files that git obeys are protected, by comparison.
func (b *sandboxes) keepsGit() bool { return b.Git != config.GitWrite && b.found().viewless == nil }

// paths returns the user's additional paths, absolute.
func (s *sandboxing) paths(list []string) []string {
	var out []string
	for _, path := range list {
		out = append(out, disk.AbsoluteIn(s.dir, disk.ExpandHome(path, s.home)))
	}
	return out
}

// own returns the session's private directory for temporary files, which ends with the
// session.
func (b *sandboxes) own() (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.private != nil {
		return b.private.Path, nil
	}
	disk.SweepScratch()
	dir, err := disk.NewScratch("box")
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(filepath.Join(dir.Path, "tmp"), 0o700); err != nil {
		return "", errors.Join(err, dir.Remove())
	}
	b.private = dir
	return dir.Path, nil
}

// cache returns the cache of sandboxed commands of the workspace. It is separate, because
// programs outside the sandbox would run files from the user's own cache.
func (b *sandboxes) cache(private string) string {
	base := cacheBase(variable(b.env, "XDG_CACHE_HOME"), b.home)
	dir := filepath.Join(base, directoryID(b.dir))
	if base == "" || os.MkdirAll(dir, 0o700) != nil {
		dir = filepath.Join(private, "cache")
		_ = os.MkdirAll(dir, 0o700) // a grant for a missing folder grants nothing
	}
	return dir
}

// discard removes the private directory.
func (b *sandboxes) discard() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	if b.repositories != nil {
		err = errors.Join(b.repositories.Close(), b.unjudged.end(b.repositories.Judged()))
		b.guards.remove(b)
	}
	if b.private == nil {
		return err
	}
	return errors.Join(err, b.private.Remove())
}
