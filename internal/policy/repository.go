package policy

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/repo"
)

// maxConfig and maxIndex bound what is read of a repository.
const (
	maxConfig = 256 << 10
	maxIndex  = 64 << 20
)

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

// gitDirs returns the directory of the repository around dir, and the one that
// it shares with its worktrees; empty if there is none. It fails on what git
// might take for a repository and is not an ordinary one.
func gitDirs(dir string) (own, common string, err error) {
	for _, at := range upwards(dir) {
		own = filepath.Join(at, ".git")
		if _, err := os.Lstat(own); err != nil {
			if isGitDir(at) {
				return "", "", fmt.Errorf("%q looks like a repository without a work tree", at)
			}
			continue
		}
		if text, err := readFile(own); err == nil { // a worktree's, or a submodule's
			own = absolute(at, strings.TrimSpace(strings.TrimPrefix(text, "gitdir:")))
		}
		common = own
		if text, err := readFile(filepath.Join(own, "commondir")); err == nil {
			common = absolute(own, strings.TrimSpace(text))
		}
		if _, err := os.Stat(filepath.Join(own, "HEAD")); err != nil || !isGitDir(common) {
			return "", "", fmt.Errorf("%q is not an ordinary repository", at)
		}
		return own, common, nil
	}
	return "", "", nil
}

func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// configKeys are what the configuration of a repository may set without
// changing what a command that reads runs; "*" is all of a section.
func configKeys() []string {
	return strings.Fields(`alias.* advice.* author.* branch.* color.* column.* committer.* credential.* fetch.* gc.* http.* https.* init.* lfs.access
		lfs.locksverify lfs.repositoryformatversion maintenance.* pull.* push.* rebase.* remote.fetch remote.url remote.pushurl remote.tagopt remote.prune remote.mirror remote.push
		remote.gh-resolved submodule.url submodule.active submodule.branch user.* tag.gpgsign commit.gpgsign commit.verbose merge.ff
		merge.conflictstyle core.abbrev core.autocrlf core.bare core.compression core.commentchar core.eol core.filemode core.ignorecase
		core.logallrefupdates core.longpaths core.precomposeunicode core.quotepath core.repositoryformatversion core.safecrlf core.sharedrepository
		core.symlinks core.untrackedcache core.whitespace diff.algorithm diff.colormoved diff.context diff.mnemonicprefix diff.noprefix
		diff.renamelimit diff.renames extensions.objectformat extensions.refstorage extensions.worktreeconfig index.version log.abbrevcommit
		log.date log.decorate log.follow status.branch status.short status.showuntrackedfiles`)
}

// obeys says why the configuration of the repository around a directory may
// have git run something.
func (p *Policy) obeys(dir string) string {
	own, common, err := gitDirs(dir)
	if err != nil {
		return "git would follow the configuration of what it finds: " + err.Error()
	}
	if own == "" {
		return ""
	}
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
	index, err := readIndex(own)
	if err != nil {
		return "git may look into submodules: " + err.Error()
	}
	if index.submodules {
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
	found, wrong := regexp.MatchString(`(?i)://[^/\s@]*:[^/\s@]+@|://[^/\s@]{20,}@|extraheader|password|token`, text)
	return err == nil && (found || wrong != nil)
}

func remotes(dir string) string {
	if _, common, err := gitDirs(dir); err != nil || common != "" && credentials(filepath.Join(common, "config")) {
		return "the addresses of the repository may hold a password"
	}
	return ""
}

// index is what is of interest in the index of a repository.
type index struct {
	names      []string
	submodules bool
}

// tracked names a secret file that git tracks in a path, relative to dir.
func tracked(g ground, dir, path string) string {
	own, _, err := gitDirs(dir)
	if err != nil || own == "" {
		return "there is no ordinary repository here"
	}
	top := ""
	for _, at := range upwards(dir) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			top = at
			break
		}
	}
	within, err := g.locate(dir, path)
	if err != nil {
		return err.Error()
	}
	if !strings.HasPrefix(within.real+"/", top+"/") {
		return path + " is outside of the repository"
	}
	index, err := readIndex(own)
	if err != nil {
		return err.Error()
	}
	for _, name := range index.names {
		at := filepath.Join(top, filepath.FromSlash(name))
		if secret(name) && (path == "." || strings.HasPrefix(at+"/", within.real+"/")) {
			return "git tracks " + name + ", which by its name holds secrets"
		}
	}
	return ""
}

// readIndex reads the index as git's documentation of its format has it
// (gitformat-index), in versions 2 and 3.
func readIndex(own string) (index, error) {
	var x index
	file, err := os.Open(filepath.Join(own, "index"))
	if os.IsNotExist(err) {
		return x, nil
	}
	if err != nil {
		return x, err
	}
	defer func() { _ = file.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(bufio.NewReader(file), maxIndex))
	if err != nil {
		return x, err
	}
	unknown := fmt.Errorf("the index of %q is of a kind that is not known", own)
	if len(data) < 12 || len(data) == maxIndex || string(data[:4]) != "DIRC" || data[7] != 2 && data[7] != 3 {
		return x, unknown
	}
	count := int(data[8])<<24 | int(data[9])<<16 | int(data[10])<<8 | int(data[11])
	rest := data[12:]
	for range count {
		if len(rest) < 64 {
			return x, unknown
		}
		x.submodules = x.submodules || rest[26] == 0xe0 // mode 160000
		start := 62
		if rest[60]&0x40 != 0 { // extended flags
			start += 2
		}
		end := strings.IndexByte(string(rest[start:min(len(rest), start+5000)]), 0)
		if end < 0 {
			return x, unknown
		}
		x.names = append(x.names, string(rest[start:start+end]))
		if rest = rest[min(len(rest), (start+end+8)/8*8):]; len(rest) < 20 {
			return x, unknown
		}
	}
	if strings.HasPrefix(string(rest), "link") {
		return x, unknown
	}
	return x, nil
}
