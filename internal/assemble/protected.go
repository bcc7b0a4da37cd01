package assemble

import (
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/internal/repo/quarantine"
)

// protected returns the files in folders that other programs obey later: git, shells,
// editors, and agents. keepsGit protects the whole repository.
func protected(folders []string, keepsGit bool) (list []string) {
	git := []string{".git/hooks", ".git/config", ".git/config.worktree"}
	if keepsGit {
		git = []string{".git"}
	}
	for _, dir := range folders {
		names := append(policy.ProtectedNames(), git...)
		if filepath.Base(dir) == ".git" || filepath.Base(filepath.Dir(dir)) == "worktrees" {
			names = []string{"hooks", "config", "config.worktree", "commondir"}
		}
		for _, name := range names {
			if path := filepath.Join(dir, filepath.FromSlash(name)); disk.Exists(path) {
				list = append(list, path)
			}
		}
	}
	return list
}

// startFiles are the files that shells of the user run.
func (s sandboxing) startFiles() (list []string) {
	if s.home == "" {
		return nil
	}
	for _, name := range policy.ShellStartFiles() {
		list = append(list, filepath.Join(s.home, name))
	}
	return list
}

// inside reports whether a path is below one of the folders, without links.
func inside(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(dir string) bool {
		dir = real(dir)
		return dir != path && disk.Within(dir, path)
	})
}

// protects returns what commands must not change in writable folders, and what they must not
// create there: protected files, the user's own configuration, what git obeys, the targets of
// links, and the links themselves. It is the one list for commands and for file tools. nested
// is what git obeys in other repositories.
func (b *sandboxes) protects(writable []string, nested quarantine.Targets) quarantine.Targets {
	places := quarantine.Places{Folders: writable}
	paths := slices.Concat(protected(writable, b.keepsGit()), b.userFiles)
	git, around := b.repository(b.dir)
	for _, git := range b.candidates(git, around) {
		paths = append(paths, quarantine.LinksIn(git.Own)...)
		if git.Common != git.Own {
			paths = append(paths, quarantine.LinksIn(git.Common)...)
		}
	}
	if b.Git == config.GitWrite {
		return quarantine.Follow(paths, places)
	}
	return quarantine.Follow(paths, places).With(b.obeyed(git, around)).With(nested)
}

// obeys returns the function that lists what programs outside of the sandbox obey, without
// links. A file tool that changes one of these files needs a decision about that file; it
// follows links and changes none.
func (c *confinement) obeys(s sandboxing) func() []string {
	b := &sandboxes{sandboxing: s, confinement: c}
	return func() []string {
		t := b.protects(b.writable(), c.guards.pointers())
		return append(t.Existing, t.Absent...)
	}
}
