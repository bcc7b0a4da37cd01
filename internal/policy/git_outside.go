package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// gitPrograms are options of git's commands that name a program, or a file that git writes.
// git accepts their beginnings as well.
var gitPrograms = []string{
	"--upload-pack", "--receive-pack", "--exec", "--exec-path", "--config", "--config-env", "--template", "--output",
	"--output-directory", "--ext-diff", "--extcmd", "--open-files-in-pager", "--tool", "--separate-git-dir", "--remote",
	"--to-command", "--recurse-submodules",
}

// minAbbreviation is the length of the shortest beginning of an option that counts.
const minAbbreviation = len("--xx")

// gitRemotes are git's commands whose operands can name another repository.
const gitRemotes = " push fetch pull clone ls-remote remote submodule archive fetch-pack send-pack "

// gitTreeChanges are git's commands that can bring a submodule into the index and then enter it.
const gitTreeChanges = " am bisect checkout cherry-pick clone merge pull read-tree rebase reset restore revert stash submodule switch worktree "

// beyond returns why a rule for git does not cover the command: it names a program that git
// runs, a file that git writes, or a repository on this machine, which commands may have made.
func (g gitCall) beyond() string {
	for i, arg := range g.args {
		if arg == "--" && !strings.Contains(gitRemotes, " "+g.name+" ") {
			break
		}
		name, _, _ := strings.Cut(arg, "=")
		switch {
		case len(name) >= minAbbreviation && slices.ContainsFunc(gitPrograms,
			func(option string) bool { return strings.HasPrefix(option, name) }):
			return fmt.Sprintf("the option %q of git can name a program or a file", name)
		case g.name == "grep" && strings.HasPrefix(arg, "-O"), g.name == "rebase" && strings.HasPrefix(arg, "-x"),
			g.name == "clone" && (strings.HasPrefix(arg, "-u") || strings.HasPrefix(arg, "-c")),
			g.name == "difftool" && strings.HasPrefix(arg, "-x"),
			i == 0 && (g.name == "bisect" && arg == "run" || g.name == "submodule" && arg == "foreach"):
			return fmt.Sprintf("%q starts a program", "git "+g.name+" "+arg)
		case strings.Contains(gitRemotes, " "+g.name+" ") && g.isLocal(arg):
			return fmt.Sprintf("%q is a repository on this machine, which sandboxed commands may have made", arg)
		}
	}
	return ""
}

// isLocal reports whether an operand can name a repository on this machine.
func (g gitCall) isLocal(arg string) bool {
	if strings.HasPrefix(arg, "file:") || arg == "." || arg == ".." {
		return true
	}
	for _, start := range []string{"/", "./", "../", "~"} {
		if strings.HasPrefix(arg, start) {
			return true
		}
	}
	if strings.HasPrefix(arg, "-") || strings.Contains(arg, ":") {
		return strings.Contains(arg, "::") // a helper of git, such as ext::
	}
	info, err := os.Stat(filepath.Join(g.dir, arg))
	return err == nil && info.IsDir()
}

// entersSubmodules reports whether git can enter a submodule that the index does not have
// yet: commands bring it in before.
func entersSubmodules(calls []gitCall) bool {
	return len(calls) > 1 || len(calls) == 1 && strings.Contains(gitTreeChanges, " "+calls[0].name+" ")
}
