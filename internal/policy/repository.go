package policy

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/policy/effects"
	"github.com/settle-agent/settle/internal/repo"
)

// maxConfig bounds the bytes of a configuration that are read.
const maxConfig = 256 << 10

// obeys returns the reason why git could run a program, by the configuration of the
// repository around a directory or by the user's; or why it could show secrets, if the
// command shows tracked content.
func (p *Policy) obeys(dir string, kind effects.Kind) string {
	var index repo.Index
	real, err := disk.Resolve(dir)
	git, findErr := repo.FindGit(real)
	if err = cmp.Or(err, findErr); err == nil && git.Top != "" {
		index, err = git.Index()
		err = cmp.Or(git.Check(), err)
	}
	switch why := p.relativeHooks(); {
	case err != nil:
		return "git would follow what it finds: " + err.Error()
	case index.Submodules:
		return "git looks into submodules, which have configurations of their own"
	case git.Top != "" && why != "":
		return why
	case kind == effects.Obeys:
		return ""
	case git.Top == "":
		return "there is no repository here" // git then compares any files
	}
	return tracked(git, index)
}

// relativeHooks returns the reason why the user's own configuration, without its includes,
// makes git run hooks of every repository.
func (p *Policy) relativeHooks() string {
	home := p.variable("HOME")
	own := cmp.Or(p.variable("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	for _, path := range []string{
		"/etc/gitconfig", filepath.Join(home, ".gitconfig"),
		filepath.Join(own, "git", "config"),
	} {
		data, _, _ := disk.Read(path, maxConfig) // an unreadable file cannot belong to a repository
		if hooksPath().Match(data) {
			return "git may run hooks of the repository: " + filepath.ToSlash(path) +
				" has a core.hooksPath that is not absolute"
		}
	}
	return ""
}

var hooksPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)\bhookspath[ \t]*=[ \t]*(?:"[ \t]*)?(?:[^/~" \t]|$)`)
})

// maxOfGit bounds the entries of a repository's folder that are searched for credentials.
const maxOfGit = 10_000

// hasCredentials reports whether the place is a git configuration with credentials, or a
// folder of a repository with one below.
func (p place) hasCredentials() bool {
	if credentials(p.real) {
		return true
	}
	path, found, seen := filepath.ToSlash(p.real)+"/", false, 0
	if !strings.Contains(path, "/.git/") && !mayBeRepository(p.real, nil) {
		return false
	}
	_ = filepath.WalkDir(p.real, func(path string, entry fs.DirEntry, err error) error {
		seen++
		found = found || err == nil && !entry.IsDir() && credentials(path) || seen > maxOfGit
		switch {
		case found:
			return fs.SkipAll
		case err == nil && entry.IsDir() && slices.Contains([]string{"objects", "refs", "logs", "hooks"}, entry.Name()):
			return fs.SkipDir
		}
		return nil
	})
	return found
}

// credentials reports whether a git configuration contains credentials.
func credentials(path string) bool {
	if base := filepath.Base(path); base != "config" && base != "config.worktree" {
		return false
	}
	data, _, _ := disk.Read(path, maxConfig)
	return password().Match(data)
}

var password = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)://[^/\s@]*:[^/\s@]+@|://[^/\s@]{20,}@|extraheader|password|token`)
})

// tracked returns the reason why tracked files can be secret.
func tracked(git repo.Git, index repo.Index) string {
	straight := git.Top
	for _, name := range index.Names {
		if Secret(name) {
			return "git tracks " + name + ", which by its name holds secrets"
		}
		if dir := filepath.Dir(filepath.Join(git.Top, filepath.FromSlash(name))); dir != straight {
			if real, err := disk.Resolve(dir); err != nil || real != dir { // git grep reads through the link
				return "git tracks " + name + ", which is now behind a link"
			}
			straight = dir
		}
	}
	return ""
}
