package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

const (
	// shellVariables change the effects of harmless commands, as do all variables of git
	// except gitVariables. pathVariables do if they lead into the working directory.
	shellVariables = `BASH_FUNC_* BASH_ENV ENV BASHOPTS SHELLOPTS CDPATH GLOBIGNORE POSIXLY_CORRECT BASH_COMPAT BASH_XTRACEFD GREP_OPTIONS MALLOC_TRACE`
	gitVariables   = `GIT_AUTHOR_* GIT_COMMITTER_* GIT_TERMINAL_PROMPT GIT_ASKPASS GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_OPTIONAL_LOCKS GIT_SSH
		GIT_SSH_* GIT_SSL_* GIT_HTTP_* GIT_CONFIG_NOSYSTEM GIT_NO_LAZY_FETCH GIT_LFS_* GIT_MERGE_AUTOEDIT GIT_PS1_* GIT_PROMPT_*`
	pathVariables = `LD_* HOME XDG_CONFIG_HOME RIPGREP_CONFIG_PATH GCONV_PATH LOCPATH NLSPATH TERMINFO MAGIC TMPDIR`
	// systemDirs contain the system's programs, and installDirs the targets of links there;
	// the shims of version managers are in a home directory.
	systemDirs  = "/bin /usr/bin /usr/local/bin /usr/local/go/bin /opt/homebrew/bin /opt/local/bin /nix/store /run/current-system/sw/bin"
	installDirs = "/bin /usr /opt/homebrew /opt/local /nix/store /etc/alternatives"
)

// hazard returns the environment variable that can change the effects of harmless commands.
// Variables that only change the format of output are harmless.
func (p *Policy) hazard(w workspace) string {
	for _, entry := range p.config.Environ {
		name, value, _ := strings.Cut(entry, "=")
		has := func(list string) bool {
			return slices.ContainsFunc(strings.Fields(list), func(known string) bool { return matches(known, name) })
		}
		paths := filepath.SplitList(value)
		if strings.HasPrefix(name, "LD_") {
			paths = filepath.SplitList(strings.ReplaceAll(value, " ", ":"))
		}
		if value != "" && (strings.HasPrefix(value, "() {") || has(shellVariables) ||
			strings.HasPrefix(name, "GIT_") && !has(gitVariables) ||
			has(pathVariables) && slices.ContainsFunc(paths, w.reaches)) {
			return "the variable " + name + " of the environment may change what commands do"
		}
	}
	return ""
}

// reaches reports whether a path of the environment can lead into the working directory.
func (w workspace) reaches(path string) bool {
	found, err := w.locate(path)
	return !filepath.IsAbs(path) || err != nil || found.inside && found.real != w.real
}

// program returns the reason why PATH's program for a name is not trusted: it comes from
// the working directory, or it is a shim that obeys files of the directory.
func (p *Policy) program(w workspace, name string) string {
	dirs := filepath.SplitList(p.variable("PATH"))
	if len(dirs) == 0 || slices.ContainsFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) }) {
		return "PATH is empty, or has a directory that is not absolute"
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			continue
		}
		found, err := w.locate(path)
		if err != nil || found.inside || disk.Within(w.dir, path) || !among(systemDirs, path) ||
			!among(installDirs, found.real) {
			return name + " is not in a directory of system programs, but in " + dir
		}
		return ""
	}
	return "" // no such program
}

func among(dirs, path string) bool {
	return disk.WithinAny(strings.Fields(dirs), path)
}

// variable returns a variable of the commands' environment; the last entry wins.
func (p *Policy) variable(name string) (value string) {
	for _, entry := range p.config.Environ {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			value = rest
		}
	}
	return value
}
