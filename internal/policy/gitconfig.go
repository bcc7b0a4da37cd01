package policy

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
)

// isConfigName reports whether git reads a file with this name in a repository's folder.
func isConfigName(name string) bool { return name == "config" || name == "config.worktree" }

// isGitFolder reports whether a folder with an entry of this name can be a repository.
func isGitFolder(name string) bool {
	return name == "HEAD" || name == "objects" || name == "refs" || name == "commondir"
}

// withoutCredentials returns a git configuration without passwords and tokens. It returns the
// same bytes if there are none.
func withoutCredentials(data []byte) []byte {
	lines := configLine().FindAll(data, -1)
	for i, line := range lines {
		lines[i] = withoutCredential(line)
	}
	return bytes.Join(lines, nil)
}

// configLine matches a line with the lines that continue it.
var configLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:[^\\\n]|\\\r?\n|\\[^\n])*(?:\\?\n|\\?$)`)
})

// withoutCredential returns one line without passwords and tokens.
func withoutCredential(line []byte) []byte {
	p := configPatterns()
	joined := p.join.ReplaceAll(line, nil)
	shown := p.user.ReplaceAllFunc(joined, func(match []byte) []byte {
		if user := match[len("://"):]; bytes.ContainsRune(user, ':') || len(user) > minTokenUser {
			return []byte("://")
		}
		return match
	})
	head := p.head.Find(shown)
	variable := shown[len(head):]
	name, value, _ := strings.Cut(string(variable), "=")
	switch {
	case p.name.MatchString(strings.TrimSpace(name)), p.value.MatchString(value),
		p.value.MatchString(name): // a comment, or a line that git could read in another way
		return append(slices.Clip(head), '\n')
	case bytes.Equal(shown, joined):
		return line
	}
	return shown
}

type configRegexps struct{ join, head, user, name, value *regexp.Regexp }

var configPatterns = sync.OnceValue(func() configRegexps {
	return configRegexps{
		join: regexp.MustCompile(`\\\r?\n`),
		// head matches the sections that begin on the line: git allows a variable behind them.
		head: regexp.MustCompile(`^\s*(?:\[(?:[^\]"\n]|"(?:[^"\\\n]|\\.)*")*\][ \t]*)*`),
		user: regexp.MustCompile(`://[^/\s]*@`),
		name: regexp.MustCompile(
			`(?i)extraheader|(?:smtppass|password|passwd|passphrase|token|secret|api-?key)$`),
		value: regexp.MustCompile(
			`(?i)(?:password|passwd|passphrase|token|secret|api-?key|authorization|bearer)["']*\s*[=: \t]\s*\S`),
	}
})

// addConfig adds a git configuration with credentials.
func (s *search) addConfig(path string) {
	if s.granted != nil && s.granted(path) && !s.of.found(path) {
		return
	}
	if data, _, err := disk.Read(path, maxConfig); err == nil && !bytes.Equal(withoutCredentials(data), data) {
		s.configs = append(s.configs, path)
	}
}

// Configs returns the files among paths, absolute and without links, that are git configurations
// with credentials, and remembers them.
func (s *SecretFiles) Configs(paths ...string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	search := search{of: s}
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			search.addConfig(real)
		}
	}
	return search.configs, s.remember(search.configs, true)
}

// Contents returns, for each file that is a git configuration, the content that a command can read
// instead: git needs the file, without its credentials. A file that was found by a secret name
// stays secret, even if a command has moved it to the place of a configuration.
func (s *SecretFiles) Contents(paths []string) map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	contents := map[string][]byte{}
	for _, path := range paths {
		if data := s.content(path); len(data) > 0 {
			contents[path] = data
		}
	}
	return contents
}

func (s *SecretFiles) content(path string) []byte {
	file, info, err := disk.OpenRegular(path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // it was only read
	id, err := identityOfFile(file)
	if known, found := s.hidden[id]; err != nil && !isConfigName(filepath.Base(path)) ||
		err == nil && (!found || !known.config) || info.Size() > maxConfig {
		return nil
	}
	if data, size, err := disk.ReadHead(file, path, maxConfig); err == nil && size <= maxConfig {
		return withoutCredentials(data)
	}
	return nil
}
