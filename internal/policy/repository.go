package policy

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/policy/effects"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/safefile"
)

// maxConfig bounds what is read of a configuration.
const maxConfig = 256 << 10

// readFile returns a regular file, and refuses a long one.
func readFile(path string) (string, error) {
	data, size, err := safefile.Read(path, maxConfig)
	if err == nil && size > maxConfig {
		err = fmt.Errorf("cannot read %q: it has %d bytes", path, size)
	}
	return string(data), err
}

// obeys says why git may run something, by the configuration of the repository
// around a directory or by the user's; or why it may show secrets, if it shows
// what is tracked.
func (p *Policy) obeys(dir string, kind effects.Kind) string {
	git, index, err := gitAround(dir)
	switch {
	case err != nil:
		return "git would follow what it finds: " + err.Error()
	case index.Submodules:
		return "git looks into submodules, which have configurations of their own"
	case git.Top == "" && kind == effects.Tracked:
		return "there is no repository here" // so that git compares any files
	case git.Top == "":
		return ""
	}
	why := p.hooks(git)
	for _, path := range []string{filepath.Join(git.Common, "config"), filepath.Join(git.Own, "config.worktree"), filepath.Join(git.Common, "config.worktree")} {
		text, err := readFile(path)
		if err != nil && !os.IsNotExist(err) {
			return err.Error()
		}
		if key := strangeConfig(text); key != "" {
			return "git may run what its configuration says: " + filepath.ToSlash(path) + " has " + key
		}
	}
	if why == "" && kind == effects.Tracked {
		why = tracked(git, index)
	}
	return why
}

// gitAround returns the repository that git finds from a directory, and what is
// in its index; zero values if there is none.
func gitAround(dir string) (git repo.Git, index repo.Index, err error) {
	real, err := repo.Resolve(dir)
	if err == nil {
		git, err = repo.FindGit(real)
	}
	if err != nil || git.Top == "" {
		return git, index, err
	}
	if err = git.Check(); err == nil {
		index, err = git.Index()
	}
	return git, index, err
}

// hooks says why git would run a hook of the repository when it reads.
func (p *Policy) hooks(git repo.Git) string {
	for _, dir := range []string{git.Own, git.Common} {
		if _, err := os.Lstat(filepath.Join(dir, "hooks", "post-index-change")); err == nil {
			return "git may run the hook post-index-change"
		}
	}
	home := p.variable("HOME")
	own := cmp.Or(p.variable("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	for _, path := range []string{"/etc/gitconfig", filepath.Join(home, ".gitconfig"), filepath.Join(own, "git", "config")} {
		text, _ := readFile(path) // one that cannot be read is not a repository's
		if relativeHooks().MatchString(text) {
			return "git may run hooks of the repository: " + filepath.ToSlash(path) + " has a core.hooksPath that is not absolute"
		}
	}
	return ""
}

// relativeHooks matches a configuration that has git run hooks of whatever
// repository it is in.
var relativeHooks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)\bhookspath[ \t]*=[ \t]*(?:"[ \t]*)?(?:[^/~" \t]|$)`)
})

// harmlessKeys are what the configuration of a repository may set without
// changing what a command that reads runs; "*" is all of a section.
const harmlessKeys = ` alias.* advice.* author.* branch.* color.* column.* committer.* credential.* fetch.* gc.* http.* https.* init.* lfs.access
	lfs.locksverify lfs.repositoryformatversion maintenance.* pull.* push.* rebase.* remote.fetch remote.url remote.pushurl remote.tagopt remote.prune remote.mirror remote.push
	remote.gh-resolved submodule.url submodule.active submodule.branch user.* tag.gpgsign commit.gpgsign commit.verbose merge.ff
	merge.conflictstyle core.abbrev core.autocrlf core.bare core.compression core.commentchar core.eol core.filemode core.ignorecase
	core.logallrefupdates core.longpaths core.precomposeunicode core.quotepath core.repositoryformatversion core.safecrlf core.sharedrepository
	core.symlinks core.untrackedcache core.whitespace diff.algorithm diff.colormoved diff.context diff.mnemonicprefix diff.noprefix
	diff.renamelimit diff.renames extensions.refstorage extensions.worktreeconfig index.version log.abbrevcommit
	log.date log.decorate log.follow status.branch status.short status.showuntrackedfiles `

var configLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:|[#;].*|\[([A-Za-z0-9-]+)(?:[ \t]+"(?:[^"\\]|\\.)*")?\]|([A-Za-z][A-Za-z0-9-]*)(?:[ \t]*=[ \t]*(.*))?)$`)
})

// strangeConfig names what is not among the harmless keys.
func strangeConfig(text string) string {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		m := configLine().FindStringSubmatch(line)
		switch {
		case m == nil || strings.HasSuffix(line, `\`) || strings.Contains(m[3], "signature"):
			return fmt.Sprintf("the line %q", clip(line))
		case m[1] != "":
			section = strings.ToLower(m[1])
		case m[2] != "":
			key := section + "." + strings.ToLower(m[2])
			if keys := strings.Fields(harmlessKeys); !slices.Contains(keys, key) && !slices.Contains(keys, section+".*") {
				return key
			}
		}
	}
	return ""
}

// credentials reports whether a configuration of git has any.
func credentials(path string) bool {
	if base := filepath.Base(path); base != "config" && base != "config.worktree" {
		return false
	}
	text, err := readFile(path)
	return err == nil && password().MatchString(text)
}

var password = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)://[^/\s@]*:[^/\s@]+@|://[^/\s@]{20,}@|extraheader|password|token`)
})

// tracked says why what git tracks may be secret.
func tracked(git repo.Git, index repo.Index) string {
	straight := git.Top
	for _, name := range index.Names {
		if Secret(name) {
			return "git tracks " + name + ", which by its name holds secrets"
		}
		if dir := filepath.Dir(filepath.Join(git.Top, filepath.FromSlash(name))); dir != straight {
			if real, err := repo.Resolve(dir); err != nil || real != dir { // git grep reads through it
				return "git tracks " + name + ", which is now behind a link"
			}
			straight = dir
		}
	}
	return ""
}
