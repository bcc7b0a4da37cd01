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

	"github.com/settle-agent/settle/internal/repo"
)

// maxConfig bounds what is read of a configuration.
const maxConfig = 256 << 10

// readFile returns a regular file, and refuses a long one.
func readFile(path string) (string, error) {
	data, size, err := repo.ReadFile(path, maxConfig)
	if err == nil && size > maxConfig {
		err = fmt.Errorf("cannot read %q: it has %d bytes", path, size)
	}
	return string(data), err
}

// upwards are a directory and those above it.
func upwards(dir string) (list []string) {
	if real, err := resolve(dir); err == nil {
		dir = real
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if list = append(list, at); at == filepath.Dir(at) {
			return list
		}
	}
}

// gitOf returns the repository that git finds from dir.
func gitOf(dir string) (repo.Git, error) { return repo.FindGit(upwards(dir)[0]) }

// configKeys are what the configuration of a repository may set without
// changing what a command that reads runs; "*" is all of a section.
func configKeys() []string {
	return strings.Fields(`alias.* advice.* author.* branch.* color.* column.* committer.* credential.* fetch.* gc.* http.* https.* init.* lfs.access
		lfs.locksverify lfs.repositoryformatversion maintenance.* pull.* push.* rebase.* remote.fetch remote.url remote.pushurl remote.tagopt remote.prune remote.mirror remote.push
		remote.gh-resolved submodule.url submodule.active submodule.branch user.* tag.gpgsign commit.gpgsign commit.verbose merge.ff
		merge.conflictstyle core.abbrev core.autocrlf core.bare core.compression core.commentchar core.eol core.filemode core.ignorecase
		core.logallrefupdates core.longpaths core.precomposeunicode core.quotepath core.repositoryformatversion core.safecrlf core.sharedrepository
		core.symlinks core.untrackedcache core.whitespace diff.algorithm diff.colormoved diff.context diff.mnemonicprefix diff.noprefix
		diff.renamelimit diff.renames extensions.refstorage extensions.worktreeconfig index.version log.abbrevcommit
		log.date log.decorate log.follow status.branch status.short status.showuntrackedfiles`)
}

// obeys says why the configuration of the repository around a directory may
// have git run something.
func (p *Policy) obeys(dir string) string {
	if why := p.gitHazard(); why != "" {
		return why
	}
	git, err := gitOf(dir)
	if err != nil {
		return "git would follow the configuration of what it finds: " + err.Error()
	}
	if git.Top == "" {
		return ""
	}
	if err := git.Check(); err != nil {
		return "git would follow what it finds: " + err.Error()
	}
	own, common := git.Own, git.Common
	for _, path := range []string{filepath.Join(common, "config"), filepath.Join(own, "config.worktree"), filepath.Join(common, "config.worktree")} {
		text, err := readFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err.Error()
		}
		if why := strangeConfig(text); why != "" {
			return "git may run what its configuration says: " + filepath.ToSlash(path) + " has " + why
		}
	}
	for _, at := range []string{own, common} {
		if _, err := os.Lstat(filepath.Join(at, "hooks", "post-index-change")); err == nil {
			return "git may run the hook post-index-change"
		}
	}
	index, err := git.Index()
	if err != nil {
		return "git may look into submodules: " + err.Error()
	}
	if index.Submodules {
		return "git looks into submodules, which have configurations of their own"
	}
	return ""
}

// strangeConfig names what is not on the list.
func strangeConfig(text string) string {
	sectionLine := regexp.MustCompile(`^\[([A-Za-z0-9-]+)(?:[ \t]+"(?:[^"\\]|\\.)*")?\]$`)
	keyLine := regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)(?:[ \t]*=[ \t]*(.*))?$`)
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if m := sectionLine.FindStringSubmatch(line); m != nil {
			section = strings.ToLower(m[1])
			continue
		}
		m := keyLine.FindStringSubmatch(line)
		if m == nil || strings.HasSuffix(line, `\`) || strings.Contains(m[2], "signature") {
			return fmt.Sprintf("the line %q", clip(line))
		}
		key := section + "." + strings.ToLower(m[1])
		if !slices.Contains(configKeys(), key) && !slices.Contains(configKeys(), section+".*") {
			return key
		}
	}
	return ""
}

// credentials reports whether a configuration of git has any.
func credentials(path string) bool {
	if filepath.Base(path) != "config" && filepath.Base(path) != "config.worktree" {
		return false
	}
	text, err := readFile(path)
	return err == nil && password().MatchString(text)
}

var password = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)://[^/\s@]*:[^/\s@]+@|://[^/\s@]{20,}@|extraheader|password|token`)
})

// remotes says why the addresses of a repository may hold a password. The
// user's own configuration may put one into them (insteadOf).
func (p *Policy) remotes(dir string) string {
	git, err := gitOf(dir)
	if err != nil || git.Top != "" && credentials(filepath.Join(git.Common, "config")) {
		return "the addresses of the repository may hold a password"
	}
	home := p.variable("HOME")
	own := cmp.Or(p.variable("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	for _, path := range []string{"/etc/gitconfig", filepath.Join(home, ".gitconfig"), filepath.Join(own, "git", "config")} {
		text, err := readFile(path)
		if password().MatchString(text) || strings.Contains(text, "[include") || err != nil && !os.IsNotExist(err) {
			return "the addresses may hold a password: " + filepath.ToSlash(path) + " can change them"
		}
	}
	return ""
}

// tracked names a secret file that git tracks in a path, relative to dir.
func tracked(g ground, dir, path string) string {
	git, err := gitOf(dir)
	if err != nil || git.Top == "" {
		return "there is no ordinary repository here"
	}
	within, err := g.locate(dir, path)
	if err != nil {
		return err.Error()
	}
	if !strings.HasPrefix(within.real+"/", git.Top+"/") {
		return path + " is outside of the repository"
	}
	index, err := git.Index()
	if err != nil {
		return err.Error()
	}
	straight := map[string]bool{}
	for _, name := range index.Names {
		at := filepath.Join(git.Top, filepath.FromSlash(name))
		if dir := filepath.Dir(at); !straight[dir] {
			if real, err := resolve(dir); err != nil || real != dir { // git grep reads through it
				return "git tracks " + name + ", which is now behind a link"
			}
			straight[dir] = true
		}
		if secret(name) && (path == "." || strings.HasPrefix(at+"/", within.real+"/")) {
			return "git tracks " + name + ", which by its name holds secrets"
		}
	}
	return ""
}
