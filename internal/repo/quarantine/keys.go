package quarantine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// harmless are the keys that a repository's configuration can contain: no git command
// starts a program because of them, unless the user configured the program. A key without
// "=" can have any value. valuePatterns has the value patterns. "*" in the middle matches
// the name of a subsection.
const harmless = `
advice.* author.name author.email committer.name committer.email user.name user.email user.useconfigonly user.signingkey=hex
color.* column.*
core.abbrev=word core.autocrlf=word core.bare=bool core.bigfilethreshold=word core.checkstat=word core.commentchar=mark core.compression=word core.eol=word
core.filemode=bool core.fsmonitor=false core.fsync=word core.ignorecase=bool core.logallrefupdates=word core.longpaths=bool core.precomposeunicode=bool
core.protecthfs=true core.protectntfs=true core.quotepath=bool core.repositoryformatversion=word core.safecrlf=word core.sharedrepository=word core.symlinks=bool
core.trustctime=bool core.untrackedcache=word core.whitespace core.preloadindex=bool core.multipackindex=bool core.commitgraph=bool core.sparsecheckout=bool
core.sparsecheckoutcone=bool
branch.*.remote=url branch.*.pushremote=url branch.*.merge branch.*.rebase=word branch.*.description branch.*.github-pr-owner-number branch.*.vscode-merge-base
branch.*.gh-merge-base branch.autosetupmerge=word branch.autosetuprebase=word branch.sort
remote.*.url=url remote.*.pushurl=url remote.*.fetch remote.*.push remote.*.tagopt=word remote.*.prune=bool remote.*.prunetags=bool remote.*.mirror=word
remote.*.promisor=bool remote.*.partialclonefilter remote.*.skipfetchall=bool remote.*.skipdefaultupdate=bool remote.*.gh-resolved=word remote.pushdefault=url
submodule.*.url=url submodule.*.active=bool submodule.*.branch submodule.*.ignore=word submodule.*.shallow=bool submodule.*.update=strategy submodule.active submodule.recurse=bool
submodule.fetchjobs=word submodule.alternatelocation=word submodule.alternateerrorstrategy=word submodule.*.fetchrecursesubmodules=word
commit.gpgsign=bool commit.verbose=word commit.cleanup=word commit.status=bool tag.gpgsign=bool tag.sort
diff.algorithm=word diff.colormoved diff.context=word diff.mnemonicprefix=bool diff.noprefix=bool diff.renamelimit=word diff.renames=word diff.submodule=word diff.ignoresubmodules=word
extensions.compatobjectformat=word extensions.noop extensions.objectformat=word extensions.partialclone=word extensions.preciousobjects=bool extensions.refstorage=word
extensions.relativeworktrees=bool extensions.worktreeconfig=bool
fetch.fsckobjects=bool fetch.parallel=word fetch.prune=bool fetch.prunetags=bool fetch.recursesubmodules=word fetch.writecommitgraph=bool fetch.negotiationalgorithm=word
gc.auto=word gc.autodetach=bool gc.autopacklimit=word gc.pruneexpire gc.reflogexpire gc.reflogexpireunreachable gc.worktreepruneexpire gc.writecommitgraph=bool
http.postbuffer=word http.version init.defaultbranch index.version=word index.threads=word index.skiphash=bool feature.manyfiles=bool feature.experimental=bool
lfs.repositoryformatversion=word lfs.url=url lfs.access=word lfs.*.access=word lfs.*.locksverify=bool lfs.locksverify=bool
filter.lfs.clean=lfs filter.lfs.smudge=lfs filter.lfs.process=lfs filter.lfs.required=bool
log.abbrevcommit=bool log.date log.decorate=word log.follow=bool maintenance.auto=bool maintenance.strategy=word maintenance.*.enabled=bool maintenance.*.schedule=word
merge.conflictstyle=word merge.ff=word merge.renames=word merge.renamelimit=word merge.stat=bool merge.autostash=bool
pack.threads=word pack.windowmemory=word pack.packsizelimit=word pack.writebitmaps=bool pack.usesparse=bool
pull.ff=word pull.rebase=word push.autosetupremote=bool push.default=word push.followtags=bool
rebase.autosquash=bool rebase.autostash=bool rebase.updaterefs=bool rebase.backend=word receive.denycurrentbranch=word receive.denynonfastforwards=bool receive.denydeletes=bool
repack.writebitmaps=bool repack.usedeltabaseoffset=bool rerere.enabled=bool rerere.autoupdate=bool status.branch=bool status.short=bool status.showuntrackedfiles=word status.submodulesummary=word
transfer.fsckobjects=bool uploadpack.allowfilter=bool uploadpack.allowanysha1inwant=bool uploadpack.allowreachablesha1inwant=bool uploadpack.allowtipsha1inwant=bool
worktree.guessremote=bool
`

// valuePatterns are the patterns of values.
var valuePatterns = sync.OnceValue(func() map[string]*regexp.Regexp {
	list := map[string]*regexp.Regexp{}
	for name, pattern := range map[string]string{
		"bool": `(?i)|true|false|yes|no|on|off|[01]`, "false": `(?i)false|no|off|0|`, "true": `(?i)true|yes|on|1`,
		"word": `[A-Za-z0-9_.,:+-]*`, "mark": `auto|string|[#;@!$%^&|:*?-]`, "hex": `(?:0x)?[0-9A-Fa-f]{8,64}!?`,
		"strategy": `checkout|rebase|merge|none`, "lfs": `git-lfs (?:clean|smudge)(?: --skip)? -- %f|git-lfs filter-process(?: --skip)?`,
		// No transport by a helper ("ext::…"), and nothing that ssh could read as an
		// option.
		"url": `(?:https?|ssh|git|git\+ssh|ssh\+git|file)://[A-Za-z0-9/\[][^\s"'\\;#]*|[A-Za-z0-9._/~][^\s"'\\;#:]*|[A-Za-z0-9_][A-Za-z0-9._@+-]*:[^\s"'\\;#:-][^\s"'\\;#:]*`,
	} {
		list[name] = regexp.MustCompile(`^(?:` + pattern + `)$`)
	}
	return list
})

// keyPatterns maps a key to the pattern of its value; "" for any value.
var keyPatterns = sync.OnceValue(func() map[string]string {
	list := map[string]string{}
	for entry := range strings.FieldsSeq(harmless) {
		key, pattern, _ := strings.Cut(entry, "=")
		list[key] = pattern
	}
	return list
})

var (
	sectionLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\[([A-Za-z0-9-]+)(?:[ \t]+"((?:[^"\\\x00]|\\["\\])*)")?\]$`)
	})
	keyLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)(?:[ \t]*=[ \t]*(.*))?$`)
	})
	quotedValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^"([^"\\]*)"$`) })
)

// variable is one line of a configuration.
type variable struct{ section, sub, key, value string }

// name is the key in the form of harmless.
func (v variable) name() string {
	if v.sub == "" {
		return v.section + "." + v.key
	}
	return v.section + ".*." + v.key
}

// harmless reports whether no git command starts a program because of the variable, and
// returns the name of the pattern that its value matches.
func (v variable) harmless() (pattern string, ok bool) {
	for _, name := range []string{v.name(), v.section + ".*", v.section + "." + v.sub + "." + v.key} {
		if pattern, known := keyPatterns()[name]; known {
			return pattern, pattern == "" || valuePatterns()[pattern].MatchString(v.value)
		}
	}
	return "", false
}

func (v variable) String() string {
	name := v.section
	if v.sub != "" {
		name += "." + v.sub
	}
	return fmt.Sprintf("%s.%s=%s", name, v.key, v.value)
}

// variables reads a configuration with one section or variable a line, in which all readers
// agree. strange is the first line of another form.
func variables(text string) (list []variable, strange string) {
	section, sub := "", ""
	for line := range strings.Lines(text) {
		raw := strings.TrimRight(line, "\r\n")
		line = strings.Trim(raw, " \t")
		switch m := sectionLine().FindStringSubmatch(line); {
		case line == "", line[0] == '#', line[0] == ';':
			if strings.HasSuffix(raw, `\`) { // git continues no comment; another reader can
				return nil, raw
			}
		case m != nil:
			section, sub = strings.ToLower(m[1]), m[2]
		default:
			m := keyLine().FindStringSubmatch(line)
			if m == nil || section == "" || strings.HasSuffix(line, `\`) {
				return nil, raw
			}
			v := variable{section, sub, strings.ToLower(m[1]), m[2]}
			if q := quotedValue().FindStringSubmatch(v.value); q != nil {
				v.value = q[1]
			} else if strings.ContainsAny(v.value, "\"\\") {
				return nil, raw
			}
			list = append(list, v)
		}
	}
	return list, ""
}

// checkConfig returns the faults of a configuration.
func checkConfig(entry, text string, worktree func(string) bool, local func(string) bool) (faults []fault) {
	list, strange := variables(text)
	if strange != "" {
		sum := sha256.Sum256([]byte(text)) // another reader can interpret the surrounding lines differently
		return []fault{
			{
				entry,
				fmt.Sprintf("its %s has a line that can be read in two ways", entry),
				"strange " + hex.EncodeToString(sum[:]),
			},
		}
	}
	for _, v := range list {
		pattern, ok := v.harmless()
		if ok && pattern == "url" {
			ok = local(v.value)
		}
		if v.section == "core" && v.key == "worktree" && v.sub == "" {
			ok = worktree(v.value)
		}
		if !ok {
			faults = append(
				faults,
				fault{
					entry,
					fmt.Sprintf("its %s sets %s, by which git may run a program", entry, v.name()),
					v.String(),
				},
			)
		}
	}
	return faults
}
