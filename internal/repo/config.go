package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
)

// maxConfig bounds the bytes of a configuration that are read.
const maxConfig = 256 << 10

// harmlessKeys are the keys that a repository's configuration can set without effect on the
// programs that a reading command runs; "*" matches a whole section. They have no format of
// commits that a reading command uses.
const harmlessKeys = `
	alias.* advice.* author.* blame.coloring blame.date blame.showemail branch.* color.* column.* committer.*
	credential.* fetch.* gc.* http.* https.* init.* lfs.access lfs.locksverify lfs.repositoryformatversion
	maintenance.* pull.* push.* rebase.* remote.fetch remote.url remote.pushurl remote.tagopt remote.prune
	remote.mirror remote.push remote.gh-resolved remote.prunetags remote.pushdefault rerere.autoupdate
	rerere.enabled submodule.fetchjobs submodule.url submodule.active submodule.branch user.* tag.gpgsign
	commit.gpgsign commit.verbose merge.ff merge.conflictstyle core.abbrev core.autocrlf core.bare
	core.bigfilethreshold core.checkstat core.commentchar core.commitgraph core.compression core.eol
	core.filemode core.fscache core.ignorecase core.logallrefupdates core.longpaths core.multipackindex
	core.precomposeunicode core.preloadindex core.quotepath core.repositoryformatversion core.safecrlf
	core.sharedrepository core.sparsecheckout core.sparsecheckoutcone core.symlinks core.trustctime
	core.untrackedcache core.whitespace diff.algorithm diff.colormoved diff.context diff.mnemonicprefix
	diff.noprefix diff.renamelimit diff.renames extensions.refstorage extensions.worktreeconfig
	feature.manyfiles gui.encoding gui.geometry gui.wmstate i18n.commitencoding i18n.filesencoding
	i18n.logoutputencoding index.skiphash index.threads index.version log.abbrevcommit log.date log.decorate
	log.follow status.branch status.short status.showuntrackedfiles url.insteadof url.pushinsteadof
	worktree.guessremote
`

// sortKeys are the harmless keys whose values name fields of refs. For the field "signature", git
// verifies signatures by a program.
const sortKeys = "branch.sort tag.sort"

var configLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(?:|[#;].*|\[([A-Za-z0-9-]+)(?:[ \t]+"(?:[^"\\]|\\.)*")?\]|([A-Za-z][A-Za-z0-9-]*)(?:[ \t]*=[ \t]*(.*))?)$`,
	)
})

// checkConfig fails on a configuration that could make git run a program, and on a hook
// that git runs when it reads.
func (g Git) checkConfig(allowed []string) error {
	for _, path := range []string{
		filepath.Join(g.Common, "config"), filepath.Join(g.Own, "config.worktree"),
		filepath.Join(g.Common, "config.worktree"),
	} {
		data, size, err := disk.Read(path, maxConfig)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		if size > maxConfig {
			return fmt.Errorf("%q is larger than %d bytes", path, maxConfig)
		}
		if what := strangeLine(string(data), allowed); what != "" {
			return fmt.Errorf("%q has %s", path, what)
		}
	}
	for _, dir := range []string{g.Own, g.Common} {
		if exists(dir, "hooks/post-index-change") {
			return fmt.Errorf("%q has the hook post-index-change", dir)
		}
	}
	return nil
}

// strangeLine describes the first line by which git may run a program: its key is neither in
// harmlessKeys nor allowed, or its value is not harmless. It is empty for none.
func strangeLine(text string, allowed []string) string {
	keys := append(strings.Fields(harmlessKeys), allowed...)
	section, unquoted := "", strings.NewReplacer(`"`, "", `\`, "")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		m := configLine().FindStringSubmatch(line)
		switch {
		case m == nil || strings.HasSuffix(line, `\`):
			return fmt.Sprintf("the line %.100q, which settle cannot read: a program may run by it", line)
		case m[1] != "":
			section = strings.ToLower(m[1])
		case m[2] != "":
			key := section + "." + strings.ToLower(m[2])
			if !slices.Contains(keys, key) && !slices.Contains(keys, section+".*") {
				return key + ", a key that settle does not know: a program may run by it"
			}
			if slices.Contains(strings.Fields(sortKeys), key) && strings.Contains(unquoted.Replace(m[3]), "signature") {
				return fmt.Sprintf("the line %.100q: the value asks git to verify signatures, by a program", line)
			}
		}
	}
	return ""
}
