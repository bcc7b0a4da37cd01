package assemble

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/repo"
)

// Trust returns the rule for trusted directories, by the git configuration of the system
// and the user.
func Trust(environ []string, getenv func(string) string) repo.Trust {
	return repo.Trust{
		SudoUID: getenv("SUDO_UID"),
		Safe:    sync.OnceValue(func() []string { return safeDirectories(environ) }),
	}
}

// MarkWorkDir has settle find none of its own programs in a working directory, nor in the
// other folders that commands will change there. Frontends call it as soon as they know the
// directory.
func MarkWorkDir(r *config.Resolved, dir string, getenv func(string) string) {
	if r.Executor != "" {
		return // the directory is on another machine
	}
	s := sandboxing{
		Sandbox: r.Sandbox, dir: real(dir), home: getenv("HOME"), configDir: configDir(getenv), dataDir: r.DataDir,
	}
	s.markWritable(s.place() == nil, getenv("XDG_CACHE_HOME"))
}

// systemFolders contain programs that the system's owner installed.
const systemFolders = `/bin /usr/bin /usr/local/bin /usr/pkg/bin /snap/bin /opt/homebrew/bin /opt/local/bin /home/linuxbrew/.linuxbrew/bin
	/nix/store`

// systemPath returns the folders of PATH that contain the system's programs.
func systemPath(path string) string {
	if runtime.GOOS == "windows" {
		return path
	}
	var kept []string
	for folder := range strings.SplitSeq(proc.TrustedPath(path), string(os.PathListSeparator)) {
		folder = real(folder)
		of := func(known string) bool { return disk.Within(known, folder) }
		if slices.ContainsFunc(strings.Fields(systemFolders), of) {
			kept = append(kept, folder)
		}
	}
	return strings.Join(kept, string(os.PathListSeparator))
}

// gitTimeout bounds each call of git.
const gitTimeout = 2 * time.Second

// safeDirectories reads safe.directory with git, the only value that settle reads with git. Git
// runs outside any repository and reads only the system's and the user's own configuration, as git
// itself does for this key (git-config(1)). It is the system's git, because it is not known yet
// which files commands can change.
func safeDirectories(environ []string) []string {
	var values []string
	env := gitEnvironment(environ)
	path := systemPath(variable(env, "PATH"))
	git, err := proc.FindProgram("git", path)
	if err != nil {
		return nil
	}
	for _, scope := range []string{"--system", "--global"} {
		ctx, cancel := context.WithTimeout(context.Background(), gitTimeout)
		out, err := proc.Run(ctx, proc.Command{
			Argv: []string{
				git, "config", scope, "--includes", "--type=path", "--null", "--get-all",
				"safe.directory",
			},
			Dir: Nowhere(), Env: append(env, "PATH="+path),
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

// readGit runs git in dir for settle itself. It is only for commands that read, and that run none of
// the programs that a repository can name (filters, drivers of diffs, monitors).
func readGit(ctx context.Context, environ []string, dir string, args ...string) (proc.Output, error) {
	out, err := proc.Run(ctx, proc.Command{
		Argv: append([]string{"git"}, args...), Dir: dir, Env: append(userGitEnvironment(environ), quietGit()...),
	})
	if err != nil {
		return out, fmt.Errorf("cannot run git: %w", err)
	}
	return out, nil
}

// gitEnvironment contains no keys, and no variable by which a caller or a repository could
// make git run a program, use the network, or wait for input.
func gitEnvironment(environ []string) []string {
	return append(append(userGitEnvironment(environ), "GIT_DIR="+notRepository()), quietGit()...)
}

// userGitEnvironment contains no keys, and leads to the user's configuration of git.
func userGitEnvironment(environ []string) []string {
	env := Helper(environ)
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if slices.Contains([]string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}, name) {
			env = append(env, entry)
		}
	}
	return env
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
