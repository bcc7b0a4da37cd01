package assemble

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/repo"
)

// Trust returns the rule for trusted directories, by the git configuration of the system
// and the user.
func Trust(environ []string, getenv func(string) string) repo.Trust {
	if dir, err := os.Getwd(); err == nil { // git is asked before a session says where it works
		s := sandboxing{dir: real(dir), home: getenv("HOME")}
		s.markWritable(s.place() == nil, getenv("XDG_CACHE_HOME"))
	}
	return repo.Trust{
		SudoUID: getenv("SUDO_UID"),
		Safe:    sync.OnceValue(func() []string { return safeDirectories(environ) }),
	}
}

// gitTimeout bounds each call of git.
const gitTimeout = 2 * time.Second

// safeDirectories reads safe.directory with git, the only value that settle reads with git.
// Git runs outside any repository and reads only the system's and the user's own
// configuration, as git itself does for this key (git-config(1)).
func safeDirectories(environ []string) []string {
	var values []string
	for _, scope := range []string{"--system", "--global"} {
		ctx, cancel := context.WithTimeout(context.Background(), gitTimeout)
		out, err := proc.Run(ctx, proc.Command{
			Argv: []string{
				"git", "config", scope, "--includes", "--type=path", "--null", "--get-all",
				"safe.directory",
			},
			Dir: Nowhere(), Env: gitEnvironment(environ),
		})
		cancel()
		if err != nil || !out.OK() { // code 1: the key is not set
			continue
		}
		for value := range strings.SplitSeq(strings.TrimSuffix(string(out.Stdout), "\x00"), "\x00") {
			values = append(values, value)
		}
	}
	return values
}

// gitEnvironment contains no keys, and no variable by which a caller or a repository could
// make git run a program, use the network, or wait for input.
func gitEnvironment(environ []string) []string {
	env := Helper(environ)
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains([]string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}, name) {
			env = append(env, entry)
		}
	}
	return append(append(env, "GIT_DIR="+notRepository()), quietGit()...)
}

// ownGitEnvironment is the environment of git in a repository. It excludes the user's and
// the system's configuration, such as filters.
func ownGitEnvironment(environ []string) []string {
	env := append(Helper(environ), "GIT_CONFIG_GLOBAL="+notRepository(), "GIT_CONFIG_SYSTEM="+notRepository(),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1")
	return append(env, quietGit()...)
}

func quietGit() []string {
	return []string{
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat",
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1=" + notRepository(), "GIT_CONFIG_KEY_2=protocol.allow",
		"GIT_CONFIG_VALUE_2=never",
	}
}

// Helper returns the environment of a program that settle runs for itself: the variables to
// find the program and the user's own files, and no keys.
func Helper(environ []string) []string {
	needed := []string{
		"PATH", "HOME", "USERPROFILE", "XDG_CONFIG_HOME", "TMPDIR", "TMP", "TEMP", "SystemRoot",
		"LD_LIBRARY_PATH",
	}
	env := []string{"LC_ALL=C"}
	for _, entry := range environ {
		if name, _, _ := strings.Cut(entry, "="); slices.ContainsFunc(needed,
			func(n string) bool { return sameVariable(n, name) }) {
			env = append(env, entry)
		}
	}
	return env
}

func sameVariable(a, b string) bool {
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
}

// notRepository is a path that cannot be a repository.
func notRepository() string {
	if runtime.GOOS == "windows" {
		return "NUL"
	}
	return "/dev/null"
}

// Nowhere is a directory to which only the system's owner writes.
func Nowhere() string {
	dir, err := filepath.Abs(string(filepath.Separator)) // includes a volume on Windows
	if err != nil {
		return string(filepath.Separator)
	}
	return dir
}
