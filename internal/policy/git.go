package policy

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/policy/effects"
	"github.com/settle-agent/settle/internal/repo"
)

// gitChanges are git's commands that change the folder of the repository (.git). An entry
// with words changes it only with one of them as the first operand; with "-", unless one of
// the words is present.
const gitChanges = `
add am checkout cherry-pick commit commit-tree fast-import fetch gc maintenance merge mktree mv pack-refs prune prune-packed pull push read-tree rebase
repack replace reset restore revert rm switch update-index update-ref write-tree
worktree:add,remove,move,prune,lock,unlock,repair submodule:add,init,deinit,update,set-branch,set-url,sync,absorbgitdirs
remote:add,rename,remove,rm,set-head,set-branches,set-url,prune,update reflog:expire,delete,drop notes:add,copy,append,edit,merge,remove,prune
sparse-checkout:init,set,add,reapply,disable bisect:start,good,bad,new,old,skip,reset,terms
stash-list,show branch--l,--list,-a,--all,-r,--remotes,-v,-vv,--show-current,--contains,--no-contains,--merged,--no-merged,--points-at
tag--l,--list,-n,-v,--verify,--contains,--no-contains,--merged,--no-merged,--points-at
config--l,--list,--get,--get-all,--get-regexp,--get-urlmatch,get,list
`

// gitChange is the form of a git command that changes a repository.
type gitChange struct {
	always, unless bool
	words          []string
}

var gitTable = sync.OnceValue(func() map[string]gitChange {
	table := map[string]gitChange{}
	for entry := range strings.FieldsSeq(gitChanges) {
		if name, words, ok := strings.Cut(entry, ":"); ok {
			table[name] = gitChange{words: strings.Split(words, ",")}
			continue
		}
		for _, name := range []string{"stash", "branch", "tag", "config"} {
			if words, ok := strings.CutPrefix(entry, name+"-"); ok {
				table[name] = gitChange{unless: true, words: strings.Split(words, ",")}
				entry = ""
			}
		}
		if entry != "" {
			table[entry] = gitChange{always: true}
		}
	}
	return table
})

// gitCall is a command that runs git.
type gitCall struct {
	dir     string // its directory
	into    string // the last operand of -C; empty if there is none
	words   []effects.Word
	head    []string // the words before the subcommand
	options []string // of head, without their operands
	name    string   // git's subcommand
	args    []string
	globs   []string // words that the shell expands, and their indexes in args; negative before args
	globsAt []int
	reads   bool     // it is known to only read
	inputs  []string // files that the shell opens as its input
}

// gitCommand reads the words of a command that runs git in a directory. It ignores options
// before the subcommand: the person who approves the call sees them.
func gitCommand(dir string, words []effects.Word) (g gitCall, ok bool) {
	if len(words) < 2 || baseName(words[0].Text) != "git" {
		return g, false
	}
	var list []string
	for _, w := range words[1:] {
		list = append(list, w.Text)
	}
	g.dir, g.words = dir, words
	g.head, list = splitGit(list)
	if len(list) == 0 {
		return g, false
	}
	for i := 0; i < len(g.head); i++ {
		option := g.head[i]
		g.options = append(g.options, option)
		if gitHeadValue(option) {
			if i++; option == "-C" {
				g.into = g.head[i]
				g.dir = filepath.Clean(absolute(g.dir, g.into))
			}
		}
	}
	g.name, g.args = list[0], list[1:]
	for i, w := range words {
		if w.Glob {
			g.globs, g.globsAt = append(g.globs, w.Text), append(g.globsAt, i-(len(words)-len(g.args)))
		}
	}
	return g, true
}

// changes reports whether the command changes the folder of the repository.
func (g gitCall) changes() bool {
	c, known := gitTable()[g.name]
	if !known || slices.Contains(g.args, "--help") || slices.Contains(g.args, "-h") {
		return false
	}
	has := func(words []string) bool {
		return slices.ContainsFunc(words, func(word string) bool {
			name, _, _ := strings.Cut(word, "=")
			return slices.Contains(c.words, name) || c.unless && strings.HasPrefix(word, "-n") &&
				slices.Contains(c.words, "-n")
		})
	}
	switch {
	case c.always:
		return true
	case !c.unless:
		i := slices.IndexFunc(g.args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
		return i >= 0 && slices.Contains(c.words, g.args[i])
	case g.name == "stash":
		return len(g.args) == 0 || !slices.Contains(c.words, g.args[0])
	case g.name == "config":
		operands := slices.DeleteFunc(slices.Clone(g.args),
			func(arg string) bool { return strings.HasPrefix(arg, "-") })
		return !has(g.args) && (len(operands) != 1 || len(operands) < len(g.args))
	}
	return len(g.args) > 0 && !has(g.args)
}

// harmlessGit are git's commands that change no repository and start only programs that the
// user configured, in addition to the commands that only read.
const harmlessGit = " ls-remote clean rev-parse check-ignore show-ref for-each-ref name-rev archive format-patch range-diff verify-commit verify-tag version "

// message is the form in which models write a commit message: a text that a shell does not
// expand.
var message = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)"\$\(cat <<-?[ ]*'([A-Za-z_]+)'\n.*?\n[ \t]*([A-Za-z_]+)\n?[ \t]*\)"`)
})

// committing returns a script with a text in place of a commit message that is a here-document.
func committing(script string) effects.Script {
	return effects.Parse(message().ReplaceAllStringFunc(script, func(text string) string {
		m, ends := message().FindStringSubmatch(text), 0
		for line := range strings.Lines(text) {
			if strings.TrimSpace(line) == m[1] {
				ends++
			}
		}
		if m[1] != m[2] || ends != 1 { // the message ends earlier, and commands follow
			return text
		}
		return "'message'"
	}))
}

// failingGit returns the git commands of a call that fail in a sandbox, since they change a repository
// which is read-only there.
func (p *Policy) failingGit(c toolCall) (names []string) {
	if !p.config.ReadOnlyGit {
		return nil
	}
	at := filepath.Clean(absolute(c.workspace.dir, c.Workdir))
	for _, command := range c.simple {
		g, isGit := gitCommand(filepath.Clean(absolute(at, command.Start)), command.Words)
		if isGit && g.changes() && p.keptGit(c.workspace, g.dir) {
			names = append(names, "git "+g.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// changesGit returns the git commands of a call that change a repository which is read-only
// in the sandbox, if all other commands of the call only read. Other calls must stay in the
// sandbox.
func (p *Policy) changesGit(c toolCall) (calls []gitCall) {
	if !p.config.ReadOnlyGit || c.tool != "shell" || c.TTY || c.Release || c.Background {
		return nil
	}
	at := filepath.Clean(absolute(c.workspace.dir, c.Workdir))
	for _, command := range c.simple {
		dir := filepath.Clean(absolute(at, command.Start))
		g, isGit := gitCommand(dir, command.Words)
		writes := slices.ContainsFunc(command.Effects, func(e effects.Effect) bool { return e.Kind == effects.Writes })
		switch {
		case writes:
			return nil
		case isGit && g.changes() && p.keptGit(c.workspace, g.dir):
			calls = append(calls, g)
		case command.Why == "", isGit && strings.Contains(harmlessGit, " "+g.name+" "):
		default:
			return nil
		}
	}
	return calls
}

// keptGit reports whether the repository around a directory is read-only in the sandbox: every
// repository is, except repositories that are completely inside the working directory.
func (p *Policy) keptGit(w workspace, dir string) bool {
	real, err := disk.Resolve(dir)
	if p.config.Opaque || err != nil || !disk.Within(w.real, real) {
		return true
	}
	git, err := repo.FindGit(real)
	switch {
	case err != nil:
		return true
	case git.Top == "":
		return false
	}
	return disk.Within(git.Top, w.real) || !disk.Within(w.real, git.Common)
}
