package policy

import (
	"errors"
	"regexp"
	"strings"
	"sync"
)

// Lines of a configuration. A value that is read has no quote, no escape, no comment and no blank.
var (
	remoteHead = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*\[([a-zA-Z0-9-]+)(?:[ \t]+"([^"\\\]]*)")?\]\s*$`)
	})
	remoteVariable = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*([a-zA-Z][a-zA-Z0-9-]*)\s*(?:[=#;].*)?$`)
	})
	remoteValue = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*[a-zA-Z]+\s*=\s*([^\s"\\#;]+)\s*$`)
	})
)

// errRemotes is of a configuration whose remotes are unknown.
var errRemotes = errors.New("the remotes are unknown")

// remoteConfig has the URLs of remotes, and the remotes that the configuration uses.
type remoteConfig struct {
	urls map[string][]string
	used []string
}

// complete reports whether each used remote is a known one or a URL of another machine, which it adds.
func (c *remoteConfig) complete() bool {
	for _, name := range c.used {
		switch {
		case c.urls[name] != nil:
		case elsewhere().MatchString(name):
			c.urls[name] = []string{name}
		default:
			return false
		}
	}
	return true
}

// read adds the remotes of a configuration.
func (c *remoteConfig) read(text string) error {
	section, name := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if text := strings.TrimSpace(line); text == "" || text[0] == '#' || text[0] == ';' {
			continue
		}
		if head := remoteHead().FindStringSubmatch(line); head != nil {
			section, name = strings.ToLower(head[1]), head[2]
			continue
		}
		variable := remoteVariable().FindStringSubmatch(line)
		if variable == nil || section == "" || strings.HasSuffix(line, `\`) {
			return errRemotes
		}
		if err := c.add(section, name, strings.ToLower(variable[1]), line); err != nil {
			return err
		}
	}
	return nil
}

// add adds a line with a variable of a section.
func (c *remoteConfig) add(section, name, variable, line string) error {
	value := ""
	if m := remoteValue().FindStringSubmatch(line); m != nil {
		value = m[1]
	}
	switch section + "." + variable {
	case "remote.url", "remote.pushurl":
		if name == "" || value == "" {
			return errRemotes
		}
		c.urls[name] = append(c.urls[name], value)
	case "remote.pushdefault", "branch.remote", "branch.pushremote":
		if value == "" {
			return errRemotes
		}
		c.used = append(c.used, value)
	case "remote.vcs":
		return errRemotes
	}
	switch section {
	case "url", "include", "includeif", "remotes": // git uses other URLs, files and places
		return errRemotes
	}
	return nil
}
