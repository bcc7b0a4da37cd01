package assemble

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/repo/quarantine"
	"github.com/settle-agent/settle/internal/sandbox"
)

// area returns the folders in which a sandboxed command could leave repositories.
func (b *sandboxes) area() quarantine.Area {
	private, err := b.own()
	if err != nil {
		return b.areaExcept()
	}
	return b.areaExcept(real(private), real(b.cache(private))) // no one runs git there
}

// areaExcept is the area without private folders.
func (b *sandboxes) areaExcept(private ...string) quarantine.Area {
	git, around := b.repository(b.dir)
	a := quarantine.Area{Configs: b.configs(), Home: b.home, Hidden: slices.Clone(private)}
	writable := b.writable()
	for _, path := range writable {
		if quarantine.IsShared(path) {
			a.Hidden = append(a.Hidden, path)
		} else if !disk.WithinAny(private, path) {
			a.Look = append(a.Look, path)
		}
		if own := filepath.Join(path, ".git"); b.keepsGit() && disk.Exists(own) {
			a.Keep = append(a.Keep, own)
		}
	}
	a.Obeyed = b.protects(writable, quarantine.Targets{}).Absent
	if b.Git != config.GitWrite {
		a.Named = b.named(git, around)
	}
	if around && b.keepsGit() {
		a.Keep = append(a.Keep, git.Own, git.Common)
	}
	if b.keepsGit() {
		a.Keep = append(a.Keep, b.unordinary()...)
	}
	if around && b.Git == config.GitWrite {
		a.Look = append(a.Look, git.Own, git.Common)
	}
	a.Above = above(a)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = a.Keep
	return a
}

// above returns the paths in shared writable folders by which git would find a repository
// above a folder of the area.
func above(a quarantine.Area) (list []string) {
	for _, path := range a.Look {
		for at := filepath.Dir(path); at != filepath.Dir(at); at = filepath.Dir(at) {
			if disk.WithinAny(a.Hidden, at) {
				list = append(list, filepath.Join(at, ".git"), filepath.Join(at, "HEAD"))
			}
		}
	}
	return list
}

// keptInside returns the repositories that count as read-only and that are in a writable
// folder: the next command must not change them either.
func (b *sandboxes) keptInside(write []string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.kept), func(path string) bool {
		return !disk.Exists(path) ||
			!slices.ContainsFunc(write, func(folder string) bool { return disk.Within(real(folder), path) })
	})
}

// added returns the folders, besides the working directory, that the user and the client let
// commands change. Without an own view of the files, a command could exchange the working
// directory in a folder around it for a link; settle leaves such a folder out.
func (b *sandboxes) added() []string {
	list := append(b.paths(b.Write), b.wishes().writable()...)
	if b.found().viewless == nil || sandbox.ViewLayer == "" {
		return list
	}
	return slices.DeleteFunc(list, b.around)
}

// around reports whether a folder contains the working directory.
func (s *sandboxing) around(folder string) bool {
	return real(folder) != s.dir && disk.Within(real(folder), s.dir)
}

// writable returns the folders that commands can change, except the session's own.
func (b *sandboxes) writable() (list []string) {
	for _, path := range append([]string{b.dir}, b.added()...) {
		list = append(list, real(path))
	}
	return list
}

// unordinary returns the repositories at the working directory that settle does not know as
// ordinary ones, and that are below a writable folder: git can know them.
func (b *sandboxes) unordinary() (list []string) {
	writable := b.writable()
	for _, git := range repo.Candidates(b.dir) {
		for _, path := range []string{git.Own, git.Common} {
			if !disk.Within(path, b.dir) && inside(writable, path) {
				list = append(list, path)
			}
		}
	}
	return list
}

// candidates are the repositories that git can find from the working directory. Whether settle
// knows one as an ordinary one does not matter.
func (b *sandboxes) candidates(git repo.Git, around bool) []repo.Git {
	list := repo.Candidates(b.dir)
	if around && !slices.Contains(list, git) {
		list = append(list, git)
	}
	return list
}

// obeyed returns the places in writable folders that git runs or obeys because the user's
// configurations name them.
func (b *sandboxes) obeyed(git repo.Git, around bool) (t quarantine.Targets) {
	b.configured(git, around, func(configs []string, top string, places quarantine.Places) {
		t = t.With(quarantine.Obeyed(configs, top, b.home, places))
	})
	return t
}

// noteAbsent remembers the absent places before a sandboxed command starts. What exists there by then
// can be of a command that runs since.
func (b *sandboxes) noteAbsent() {
	running := b.repositories.Unsettled(context.Background())
	absent := b.absent()
	b.mu.Lock()
	defer b.mu.Unlock()
	if running {
		absent = append(absent, b.open...)
	}
	slices.Sort(absent)
	b.open = slices.Compact(absent)
}

// unprotected returns the places at which git would run or obey what a sandboxed command that runs
// makes there.
func (b *sandboxes) unprotected() []string {
	absent := b.absent()
	b.mu.Lock()
	defer b.mu.Unlock()
	return append(absent, b.open...)
}

// absent returns the places in writable folders at which nothing exists and which git would run or obey:
// the user's configurations name them, or links in the repository lead there.
func (b *sandboxes) absent() []string {
	git, around := b.repository(b.dir)
	t := b.obeyed(git, around)
	for _, git := range b.candidates(git, around) {
		links := append(quarantine.LinksIn(git.Own), quarantine.LinksIn(git.Common)...)
		t = t.With(quarantine.Follow(links, quarantine.Places{Folders: b.writable()}))
	}
	return t.Absent
}

// named returns the existing places of what git runs or obeys because the user's configurations
// name them.
func (b *sandboxes) named(git repo.Git, around bool) (list []string) {
	b.configured(git, around, func(configs []string, top string, places quarantine.Places) {
		list = append(list, quarantine.Named(configs, top, b.home, places)...)
	})
	return list
}

// configured calls visit with the configurations of each repository that git can find, and with
// those of all repositories for each writable folder.
func (b *sandboxes) configured(
	git repo.Git, around bool, visit func(configs []string, top string, places quarantine.Places),
) {
	places, configs := quarantine.Places{Folders: b.writable()}, slices.Clip(b.configs())
	for _, git := range b.candidates(git, around) {
		visit(append(
			configs, filepath.Join(git.Common, "config"), filepath.Join(git.Own, "config.worktree"),
		), git.Top, places)
	}
	for _, folder := range places.Folders { // also without a repository
		visit(configs, folder, places)
	}
}

// configs returns the git configurations that apply to every repository, including configurations
// in environment variables.
func (s *sandboxing) configs() []string {
	return append(s.gitConfigs(), quarantine.Given(s.userEnv)...)
}

// gitConfigs are the files of git's configuration that hold for every repository.
func (s *sandboxing) gitConfigs() []string {
	configs := []string{
		"/etc/gitconfig",
		filepath.Join(s.home, ".gitconfig"),
		filepath.Join(s.home, ".config", "git", "config"),
	}
	if own := variable(s.userEnv, "XDG_CONFIG_HOME"); own != "" {
		configs = append(configs, filepath.Join(own, "git", "config"))
	}
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
		if path := variable(s.userEnv, name); filepath.IsAbs(path) {
			configs = append(configs, path)
		}
	}
	return configs
}

// maxUnread bounds how many commands of git's configuration are named as gaps.
const maxUnread = 5

// unread are gaps: commands that git's configuration names and that may run files which
// are not protected.
func (s *sandboxing) unread() (gaps []string) {
	git, err := repo.FindGit(s.dir)
	if err != nil {
		return []string{fmt.Sprintf(
			"%v; only the files that its configuration names are protected, and git itself if it is below %s",
			err,
			s.dir,
		)}
	}
	if git.Top == "" {
		return nil
	}
	configs := append(s.configs(), filepath.Join(git.Common, "config"), filepath.Join(git.Own, "config.worktree"))
	list := quarantine.Unread(configs, git.Top, s.home)
	for _, v := range list[:min(len(list), maxUnread)] {
		gaps = append(
			gaps,
			fmt.Sprintf(
				"git runs a command of its configuration (%.200s); files that it runs in turn are not protected from sandboxed commands",
				v,
			),
		)
	}
	return gaps
}
