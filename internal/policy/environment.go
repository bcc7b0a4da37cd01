package policy

import (
	"go/version"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// hazard says which variable of the environment may change what harmless
// commands do. Left out is what only changes how their output looks.
func hazard(g ground, environ []string) string {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case value == "":
		case strings.HasPrefix(name, "BASH_FUNC_"), strings.HasPrefix(value, "() {"),
			slices.Contains(strings.Fields(shellVariables), name),
			slices.Contains(strings.Fields(pathVariables), name) && slices.ContainsFunc(filepath.SplitList(value), g.reaches),
			strings.HasPrefix(name, "LD_") && slices.ContainsFunc(strings.FieldsFunc(value, func(r rune) bool { return r == ':' || r == ' ' }), g.reaches):
			return "the variable " + name + " of the environment may change what commands do"
		}
	}
	return ""
}

// gitHazard says which variable may change what git does.
func (p *Policy) gitHazard() string {
	for _, entry := range p.config.Environ {
		name, value, _ := strings.Cut(entry, "=")
		harmless := slices.ContainsFunc(strings.Fields(gitVariables), func(known string) bool { return fits(known, name) })
		if strings.HasPrefix(name, "GIT_") && value != "" && !harmless {
			return "the variable " + name + " of the environment may change what git does"
		}
	}
	return ""
}

// reaches reports whether a path of the environment may lead into the working
// directory.
func (g ground) reaches(path string) bool {
	real, err := resolve(path)
	return !filepath.IsAbs(path) || err != nil || real != g.real && within(g.real, real)
}

const (
	gitVariables = `GIT_AUTHOR_* GIT_COMMITTER_* GIT_TERMINAL_PROMPT GIT_ASKPASS GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_OPTIONAL_LOCKS GIT_SSH
		GIT_SSH_* GIT_SSL_* GIT_HTTP_* GIT_CONFIG_NOSYSTEM GIT_NO_LAZY_FETCH GIT_LFS_* GIT_MERGE_AUTOEDIT GIT_PS1_* GIT_PROMPT_*`
	shellVariables = `BASH_ENV ENV BASHOPTS SHELLOPTS CDPATH GLOBIGNORE POSIXLY_CORRECT BASH_COMPAT BASH_XTRACEFD GREP_OPTIONS MALLOC_TRACE`
	pathVariables  = `LD_LIBRARY_PATH HOME XDG_CONFIG_HOME RIPGREP_CONFIG_PATH GCONV_PATH LOCPATH NLSPATH TERMINFO MAGIC TMPDIR GOROOT`
)

// program says why what PATH has for a name is not to be trusted: it comes
// from the working directory, or a tool that obeys the directory's files
// stands in for it.
func (p *Policy) program(g ground, name string) string {
	list := filepath.SplitList(p.variable("PATH"))
	for _, dir := range append(list, "")[:max(1, len(list))] {
		if !filepath.IsAbs(dir) {
			return "PATH is empty, or has a directory that is not absolute"
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			continue
		}
		real, err := resolve(path)
		if err != nil || within(g.real, real) || within(g.dir, path) {
			return name + " is a program of the working directory"
		}
		if !among(systemDirs(), path) || !among(installDirs(), real) {
			return name + " is not where the system keeps programs, but in " + dir
		}
		return ""
	}
	return "" // there is none
}

func systemDirs() []string {
	return []string{"/bin", "/usr/bin", "/usr/local/bin", "/usr/local/go/bin", "/opt/homebrew/bin", "/opt/local/bin", "/nix/store", "/run/current-system/sw/bin"}
}

// installDirs are where the links in those directories lead; a shim of a
// version manager lies in a home directory.
func installDirs() []string {
	return []string{"/bin", "/usr", "/opt/homebrew", "/opt/local", "/nix/store", "/etc/alternatives"}
}

func among(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(dir, path) })
}

// variable is one of the commands' environment; the last one counts.
func (p *Policy) variable(name string) (value string) {
	for _, entry := range p.config.Environ {
		if rest, ok := strings.CutPrefix(entry, name+"="); ok {
			value = rest
		}
	}
	return value
}

// toolchain says why go may run another version of itself than the one that
// is installed: a module around the directory demands one.
func (p *Policy) toolchain(dir string) string {
	local, found := "", false
	for _, bin := range filepath.SplitList(p.variable("PATH")) {
		if real, err := filepath.EvalSymlinks(filepath.Join(bin, "go")); err == nil {
			text, _ := readFile(filepath.Join(filepath.Dir(filepath.Dir(real)), "VERSION"))
			local, _, _ = strings.Cut(text, "\n")
			found = true
			break
		}
	}
	if !found {
		return ""
	}
	if v := p.variable("GOTOOLCHAIN"); v == "local" {
		return ""
	} else if v != "" && v != "auto" {
		return "GOTOOLCHAIN chooses which go runs"
	}
	demands := regexp.MustCompile(`(?m)^[^A-Za-z/\n]*(go|toolchain)[ \t]+(.*)$`)
	for _, at := range upwards(dir) {
		for _, name := range []string{"go.mod", "go.work"} {
			text, err := readFile(filepath.Join(at, name))
			if err != nil && !os.IsNotExist(err) {
				return err.Error()
			}
			for _, found := range demands.FindAllStringSubmatch(text, -1) {
				demand, _, _ := strings.Cut(found[2], "//")
				demand = "go" + strings.TrimPrefix(strings.TrimSpace(demand), "go")
				if !version.IsValid(demand) || !version.IsValid(local) || version.Compare(demand, local) > 0 {
					return filepath.ToSlash(filepath.Join(at, name)) + " demands another version of go"
				}
			}
		}
	}
	return ""
}
