package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/policy/effects"
	"github.com/settle-agent/settle/internal/repo"
)

// elsewhere matches a repository of another machine: a URL of a network protocol, or "host:path".
var elsewhere = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:(?:https?|ssh|git|git\+ssh|ssh\+git)://|[^/:]{2,}:(?:[^:/]|/[^/]|$))`)
})

// risk is a word of a git command, its effect, and the part of the command that has it.
type risk struct {
	word, what string
	part       int
}

// Effects of words.
const (
	isUnknown = "is not known to name no program, no file and no place"
	runsMore  = "can make git run programs"
	isOutside = "is outside of the working directory"
	isLocal   = "is a place on this machine, whose hooks and configuration git obeys"
	isInput   = "is a file that git reads"
	isNoRef   = "can be a file of the repository other than a reference"
	isUnread  = "can lead to a place on this machine"
)

// gitVerbs are subcommands whose first operand decides what they do.
const gitVerbs = " bisect submodule hook maintenance bundle subtree sparse-checkout worktree notes remote " +
	"reflog multi-pack-index commit-graph "

// risks returns the words that could make git use a program, a file or a repository in a place that
// commands can change, although a rule for the subcommand does not name them: all words that are not
// known to do something else.
func (p *Policy) risks(w workspace, g gitCall) (list []risk) {
	add := func(what string, words ...string) {
		for _, word := range words {
			list = append(list, risk{word: word, what: what})
		}
	}
	if !w.has(g.dir) {
		list = append(list, risk{cmp.Or(g.into, g.dir), isOutside, beforeName})
	}
	for _, option := range g.options {
		if option != "-C" && !strings.Contains(gitGlobals, " "+option+" ") {
			list = append(list, risk{option, isUnknown, beforeName})
		}
	}
	add(isInput, g.inputs...)
	for i, glob := range g.globs {
		if end := slices.Index(g.args, "--"); !g.reads && strings.ContainsAny(glob[:1], "-*?[") &&
			(end < 0 || g.globsAt[i] < end || !g.takesPaths()) {
			add("can match a file whose name is an option", glob)
		}
	}
	a, known := g.arguments()
	switch {
	case g.reads:
		a.operands = slices.DeleteFunc(
			slices.Clone(g.args), func(arg string) bool { return strings.HasPrefix(arg, "-") },
		)
	case !known:
		a.operands = g.args
		if strings.Contains(gitVerbs, " "+g.name+" ") && len(g.args) > 0 {
			add(runsMore, g.args[0])
		} else {
			list = append(list, risk{g.name, runsMore, isSubcommand})
		}
	default:
		add(isUnknown, a.unknown...)
		if g.name == "remote" && len(a.verb) == 0 {
			add(isUnknown, a.operands...)
		}
		if len(a.operands) > 1 && (g.name == "symbolic-ref" || g.name == "update-ref") {
			add(isNoRef, slices.DeleteFunc(slices.Clone(a.operands[:1]), isRef)...)
		}
		local, ok := p.localRepositories(w, g, a)
		if !ok {
			list = append(list, risk{"the configuration of the remotes", isUnread, inNoWord})
		}
		add(isLocal, local...)
	}
	for _, word := range a.operands {
		if word != "" && !elsewhere().MatchString(word) && !w.has(absolute(g.dir, word)) {
			add(isOutside, word)
		}
	}
	return list
}

// isRef reports whether a name is of HEAD or below refs: git writes a file of any other name as a reference,
// such as its configuration.
func isRef(name string) bool {
	return name == "HEAD" || strings.HasPrefix(name, "refs/") && !strings.Contains(name, "..")
}

// has reports whether a path is in the working directory, through links too.
func (w workspace) has(path string) bool {
	place, err := w.locate(filepath.Clean(path))
	return err == nil && place.inside
}

// localRepositories returns the repositories of this machine with which a git command exchanges
// commits: operands that name neither a host nor a remote of another host, and such remotes if
// the command names none. ok is false if the configuration of the remotes could lead to another one.
func (p *Policy) localRepositories(w workspace, g gitCall, a gitArguments) (list []string, ok bool) {
	operands := a.operands
	switch g.name + " " + a.verb {
	case "push ", "pull ", "ls-remote ", "clone ":
		operands = operands[:min(1, len(operands))]
	case "fetch ":
		if !a.has("-m", "--multiple") {
			operands = operands[:min(1, len(operands))]
		}
	case "remote add", "remote set-url":
		operands = operands[min(1, len(operands)):]
	case "remote update", "remote prune", "remote set-head":
		operands = nil
	default:
		return nil, true
	}
	remotes, ok := readRemotes(g.dir)
	contacts := g.name != "clone" && a.verb != "set-url" && (a.verb != "add" || a.has("-f", "--fetch"))
	if !ok && contacts {
		return nil, false
	}
	local := func(url string) bool { return p.isLocal(w, g, url) }
	if len(operands) == 0 && g.name != "clone" {
		for name, urls := range remotes {
			if slices.ContainsFunc(urls, local) {
				list = append(list, name)
			}
		}
		slices.Sort(list)
	}
	for _, operand := range operands {
		urls, isRemote := remotes[operand]
		if isRemote && !slices.ContainsFunc(urls, local) ||
			!isRemote && elsewhere().MatchString(operand) && !local(operand) {
			continue
		}
		list = append(list, operand)
	}
	return list, true
}

// isLocal reports whether a URL names a repository of this machine that commands can change.
func (p *Policy) isLocal(w workspace, g gitCall, url string) bool {
	switch {
	case repo.IsThisMachine(url):
		return true
	case elsewhere().MatchString(url):
		if strings.Contains(url, "://") || g.name != "clone" {
			return false
		}
		_, err := os.Lstat(filepath.Join(g.dir, url)) // git clone prefers a folder
		return err == nil
	case !filepath.IsAbs(url) || p.config.Writes == nil:
		return true
	}
	real, err := disk.Resolve(url)
	return err != nil || disk.Within(w.real, real) || p.config.Writes(event.Workspace, real)
}

// readRemotes returns the URLs of the remotes that the repository around a directory configures. ok is
// false if the repository or the form of its configuration is unusual, or if git could use other places.
func readRemotes(dir string) (remotes map[string][]string, ok bool) {
	real, err := disk.Resolve(dir)
	if err != nil {
		return nil, false
	}
	git, err := repo.FindGit(real)
	if err != nil || git.Top == "" {
		return nil, false
	}
	config := remoteConfig{urls: map[string][]string{}}
	for i, path := range []string{
		filepath.Join(git.Common, "config"), filepath.Join(git.Own, "config.worktree"),
	} {
		data, size, err := disk.Read(path, maxConfig)
		if i > 0 && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || size > maxConfig || config.read(string(data)) != nil {
			return nil, false
		}
	}
	return config.urls, config.complete()
}

// askAboutWords asks about git outside of the sandbox by a rule, if a word of the command
// that no rule names could lead git to a program, a file or a repository.
func (p *Policy) askAboutWords(c toolCall, verdicts []verdict, j *settle.Judgement) {
	for _, g := range c.gitCalls() {
		for _, r := range p.risks(c.workspace, g) {
			if !ruleNames(verdicts, g, r) {
				j.Decision, j.Rule = event.Ask, bySandbox
				only := "a rule allows it only if its pattern has this word"
				if r.part == inNoWord {
					only = "only a rule without a pattern allows it"
				}
				j.Why = clip(fmt.Sprintf("git would run outside of the sandbox, and %q %s; %s", r.word, r.what, only))
				return
			}
		}
	}
}

// gitCalls returns the git commands of a call.
func (c toolCall) gitCalls() (list []gitCall) {
	at := filepath.Clean(absolute(c.workspace.dir, c.Workdir))
	for _, command := range c.simple {
		g, isGit := gitCommand(filepath.Clean(absolute(at, command.Start)), command.Words)
		if !isGit {
			continue
		}
		if g.reads = command.Why == ""; !g.reads { // the effects are those of redirections
			for _, e := range command.Effects {
				if e.Kind == effects.Reads {
					g.inputs = append(g.inputs, e.Path)
				}
			}
		}
		list = append(list, g)
	}
	return list
}

// sharesCall reports whether a command can run outside of the sandbox beside a git command without a
// question: it reads nothing that a sandboxed command could have exchanged.
func (c toolCall) sharesCall(words []effects.Word) bool {
	if len(words) == 0 {
		return false
	}
	switch words[0].Text {
	case "cd", "echo", "true", ":", "printf":
		return !slices.ContainsFunc(words, func(w effects.Word) bool { return w.Glob })
	}
	_, isGit := gitCommand(c.workspace.dir, words)
	return isGit
}

// sharesAll reports whether each command of the call can run beside git, see sharesCall.
func (c toolCall) sharesAll() bool {
	return !slices.ContainsFunc(
		c.simple, func(command effects.Command) bool { return !c.sharesCall(command.Words) },
	)
}

// gitTreeChanges are git's commands that can bring a submodule into the index and then
// enter it.
const gitTreeChanges = ` am bisect checkout cherry-pick clone merge pull read-tree rebase reset restore revert stash
submodule switch worktree `

// entersSubmodules reports whether git can enter a submodule that the index does not have
// yet: commands bring it in before.
func entersSubmodules(calls []gitCall) bool {
	return len(calls) > 1 || len(calls) == 1 && slices.Contains(strings.Fields(gitTreeChanges), calls[0].name)
}
