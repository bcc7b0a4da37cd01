package proc

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	// placeVariables name directories, and no program loads code by them alone.
	placeVariables = `HOME USERPROFILE PWD OLDPWD INIT_CWD CLAUDE_PROJECT_DIR SETTLE_PROJECT_DIR GITHUB_WORKSPACE
		CI_PROJECT_DIR WORKSPACE`
	// loadVariables are lists of files and folders that loaders and interpreters load.
	loadVariables = `LD_LIBRARY_PATH LD_PRELOAD LD_AUDIT DYLD_LIBRARY_PATH DYLD_INSERT_LIBRARIES DYLD_FRAMEWORK_PATH
		DYLD_FALLBACK_LIBRARY_PATH PYTHONPATH PYTHONHOME PYTHONSTARTUP NODE_PATH PERL5LIB PERLLIB RUBYLIB CLASSPATH
		GIT_EXEC_PATH GIT_TEMPLATE_DIR BASH_ENV ENV`
	// optionVariables are options of interpreters and compilers.
	optionVariables = `NODE_OPTIONS BUN_OPTIONS PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS GOFLAGS`
)

// loadingOption matches an option that loads code, other than from an absolute path.
var loadingOption = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|\s)(?:-r|-I|-M|-m|--require|--import|--preload|--loader|--experimental-loader|` +
		`--env-file|-javaagent:|-agentpath:|-agentlib:|-Xbootclasspath[^:]*:|-cp|--class-path|-toolexec|-modfile|-overlay|@)` +
		`[=\s]*[^/=\s]`)
})

// TrustedEnv returns the environment of a program that settle starts outside of a sandbox for
// itself. PATH is the [TrustedPath]. No other variable leads to a folder that commands can change:
// interpreters, loaders and many programs run files that they find there.
func TrustedEnv(env []string) []string {
	trusted := make([]string, 0, len(env))
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if value, ok := trustedValue(name, value); ok {
			trusted = append(trusted, name+"="+value)
		}
	}
	return trusted
}

// UntrustedVariables returns the names of the variables, except PATH, that [TrustedEnv]
// changes or omits.
func UntrustedVariables(env []string) (names []string) {
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if isPath(name) {
			continue
		}
		if trusted, ok := trustedValue(name, value); !ok || trusted != value {
			names = append(names, name)
		}
	}
	return names
}

// TrustedPrograms returns an environment with the [TrustedPath] as PATH. The other
// variables are the caller's choice.
func TrustedPrograms(env []string) []string {
	env = slices.Clone(env)
	for i, entry := range env {
		if name, value, _ := strings.Cut(entry, "="); isPath(name) {
			env[i] = name + "=" + TrustedPath(value)
		}
	}
	return env
}

func isPath(name string) bool {
	return name == "PATH" || os.PathListSeparator == ';' && strings.EqualFold(name, "PATH")
}

// trustedValue returns the value of a variable for a program outside of the sandbox; false if the
// variable must be omitted.
func trustedValue(name, value string) (string, bool) {
	has := func(names string) bool { return slices.Contains(strings.Fields(names), name) }
	loads := has(loadVariables)
	switch {
	case isPath(name):
		return TrustedPath(value), true
	case value == "" || has(placeVariables):
		return value, true
	case has(optionVariables) && loadingOption().MatchString(value):
		return "", false
	case !loads && !leadsToChangeable(value):
		return value, true
	}
	list := strings.FieldsFunc(value, func(r rune) bool {
		return r == os.PathListSeparator || strings.HasPrefix(name, "LD_") && (r == ';' || r == ' ') // ld.so(8)
	})
	if !loads && slices.ContainsFunc(list, func(path string) bool { return !filepath.IsAbs(path) }) {
		return "", false // it is no list of paths
	}
	kept := slices.DeleteFunc(list, func(path string) bool {
		library := !strings.ContainsRune(path, '/') && (name == "LD_PRELOAD" || name == "LD_AUDIT")
		return !library && !trustedFolder(path)
	})
	return strings.Join(kept, string(os.PathListSeparator)), len(kept) > 0
}

// leadsToChangeable reports whether a value names a path that commands can change, or a path
// that is relative to the working directory.
func leadsToChangeable(value string) bool {
	separators := oddCharacters
	if os.PathListSeparator != ':' {
		separators = strings.TrimSuffix(separators, ":")
	}
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		if word == "." || word == ".." || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") {
			return true
		}
		if start := strings.IndexByte(word, '/'); start > 0 && strings.ContainsRune("-@", rune(word[0])) {
			word = word[start:] // an option with its value, such as -I/src
		}
		if filepath.IsAbs(word) && changeable(filepath.Clean(word)) {
			return true
		}
	}
	return host.writable.mentionedIn(value, separators)
}

// mentionedIn reports whether a text has one of the folders that a split at the separators
// would cut.
func (w *writableFolders) mentionedIn(text, separators string) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return slices.ContainsFunc(w.odd, func(folder string) bool {
		return strings.ContainsAny(folder, separators) && strings.Contains(text, folder)
	})
}

// Overlay returns an environment in which replacements replace variables of the same name.
func Overlay(env, replacements []string) []string {
	names := map[string]bool{}
	for _, entry := range replacements {
		name, _, _ := strings.Cut(entry, "=")
		names[name] = true
	}
	out := make([]string, 0, len(env)+len(replacements))
	for _, entry := range env {
		if name, _, _ := strings.Cut(entry, "="); !names[name] {
			out = append(out, entry)
		}
	}
	return append(out, replacements...)
}
