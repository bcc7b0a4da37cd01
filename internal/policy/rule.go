package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
)

// rule is a rule that has been understood.
type rule struct {
	config.Rule
	words []string // of a pattern for commands
	path  string   // a pattern for paths, with slashes; "~" is replaced
}

// match is whether a rule is about an effect.
type match int

const (
	no match = iota
	maybe
	yes
)

func (r rule) String() string {
	return strings.TrimSpace("rule " + r.Tool + " " + r.Pattern)
}

// editors are one tool to rules: which of them a model is offered depends on
// the model.
func editors() []string { return []string{"edit", "write", "apply_patch"} }

// readers are what a rule for "read" is about.
func readers() []string { return []string{"read", "grep", "glob", "list"} }

func newRule(r config.Rule, home string) (rule, error) {
	c := rule{Rule: r}
	if r.Decision.Strictness() < 0 {
		return c, fmt.Errorf("the decision %q is not one of allow, ask, deny", r.Decision)
	}
	if r.Tightens && r.Decision == event.Allow {
		return c, fmt.Errorf("a project's rule may ask or deny, not allow")
	}
	if r.Tool == "" {
		return c, fmt.Errorf(`it names no tool; "*" is all of them`)
	}
	if strings.ContainsAny(r.Tool, " \t\n") || r.Tool != "*" && strings.Contains(r.Tool, "*") {
		return c, fmt.Errorf(`%q is not the name of a tool; a pattern has its own key, and "*" is all tools`, r.Tool)
	}
	if r.Pattern == "" || r.Pattern == "*" || r.Pattern == "**" {
		c.Pattern = ""
		return c, nil
	}
	if r.Tool == "shell" {
		return c, c.forCommands()
	}
	return c, c.forPaths(home)
}

func (r *rule) forCommands() error {
	for _, operator := range []string{"&&", "||", ";", "|", "&", "<", ">", "`", "$(", "\n"} {
		if strings.Contains(r.Pattern, operator) {
			return fmt.Errorf("the pattern %q contains %q; a pattern is of one simple command, and each command of a call is judged by itself", r.Pattern, operator)
		}
	}
	r.words = strings.Fields(r.Pattern)
	if len(r.words) == 0 {
		return fmt.Errorf("the pattern %q is blank", r.Pattern)
	}
	return nil
}

func (r *rule) forPaths(home string) error {
	pattern := slashed(r.Pattern)
	if pattern == "~" || strings.HasPrefix(pattern, "~/") {
		if home == "" {
			return fmt.Errorf("the pattern %q needs a home directory, and there is none", r.Pattern)
		}
		pattern = filepath.ToSlash(home) + pattern[1:]
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if !doublestar.ValidatePattern(pattern) {
		return fmt.Errorf("the pattern %q is not a valid glob; is a bracket or brace left open?", r.Pattern)
	}
	r.path = pattern
	return nil
}

// about reports whether the rule is about effects of this kind of a call of the
// tool.
func (r rule) about(tool string, e effect) bool {
	paths := e.kind == reads || e.kind == looks || e.kind == writes
	switch {
	case r.Tool == "*":
		return r.Pattern == "" || paths || e.kind == does
	case r.Tool == "shell" && tool == "shell":
		return r.Pattern == "" || e.kind == runs || e.kind == hidden
	case slices.Contains(editors(), r.Tool):
		return e.kind == writes
	case r.Tool == "read":
		return e.kind == reads || e.kind == looks && slices.Contains(readers(), tool)
	}
	return r.Tool == tool
}

// guards reports whether a script of a tool that is not understood may do
// what the rule forbids.
func (r rule) guards(tool string) bool {
	return r.Decision != event.Allow && (tool == "shell" || tool == "job")
}

// forbids reports whether a rule that asks or denies is about the effect.
func (r rule) forbids(c call, e effect) match {
	if !r.about(c.tool, e) {
		return no
	}
	if r.Pattern == "" {
		return yes
	}
	switch e.kind {
	case runs:
		return forbidsWords(r.words, e.words, c.harmless)
	case hidden:
		return maybe
	case does:
		if e.place.named == "" {
			if e.action != "" && fits(strings.ToLower(r.Pattern), strings.ToLower(e.action)) {
				return yes
			}
			return no
		}
	}
	for _, path := range []string{e.place.rel, filepath.ToSlash(e.place.named), filepath.ToSlash(e.place.real)} {
		if r.covers(c.ground, path) {
			return yes
		}
	}
	if e.wide {
		return maybe // it may cover something below
	}
	return no
}

// covers reports whether the pattern matches a path, or a directory that it is
// in. Case does not count, since for many file systems it does not.
func (r rule) covers(g ground, path string) bool {
	pattern := strings.ToLower(r.path)
	root := strings.ToLower(filepath.ToSlash(g.real))
	for path = strings.ToLower(path); path != "." && path != "/" && path != ""; path = parent(path) {
		if matchesPath(pattern, root, path) {
			return true
		}
	}
	return false
}

func parent(path string) string {
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return ""
	}
	return path[:at]
}

// allows reports whether a rule that allows is about the effect. What has a
// wide pattern does not reach beyond the working directory, nor to files that
// are secret or guarded: a pattern must name those.
func (r rule) allows(tool string, g ground, e effect) bool {
	if !r.about(tool, e) {
		return false
	}
	switch e.kind {
	case runs:
		return r.Pattern == "" || allowsWords(r.words, e.words)
	case hidden:
		return r.Pattern == ""
	case does:
		if r.Pattern == "" || e.place.named == "" {
			return r.Pattern == "" || e.action != "" && fits(r.Pattern, e.action)
		}
	}
	if r.Pattern == "" {
		return e.place.inside && !e.careful()
	}
	if e.careful() && !r.namesCareful(e) {
		return false
	}
	if strings.HasPrefix(r.path, "../") || filepath.IsAbs(filepath.FromSlash(r.path)) {
		return doublestar.MatchUnvalidated(r.resolved(g), filepath.ToSlash(e.place.real))
	}
	return e.place.inside && matchesPath(r.path, filepath.ToSlash(g.real), e.place.rel)
}

// careful reports whether an effect is one that wide patterns do not allow.
func (e effect) careful() bool {
	root := filepath.Dir(e.place.real) == e.place.real // with /proc below it
	secret := e.place.secret() || e.sensitive || root || virtual(e.place.named) || virtual(e.place.real)
	return (e.kind == writes || e.kind == does) && e.place.guarded() || e.kind == reads && secret
}

// namesCareful reports whether the pattern itself is the name of such a file.
func (r rule) namesCareful(e effect) bool {
	name := strings.ReplaceAll(r.path, "*", "")
	if e.place.secret() {
		return secret(name)
	}
	if e.kind == reads {
		return name == r.path
	}
	return place{rel: name}.guarded()
}

// resolved is the pattern as an absolute one, with the links of the directory
// that it begins with followed, as those of a place are.
func (r rule) resolved(g ground) string {
	base, rest := doublestar.SplitPattern(r.path)
	if !filepath.IsAbs(filepath.FromSlash(base)) {
		base = filepath.ToSlash(g.real) + "/" + base
	}
	real, err := resolve(filepath.FromSlash(base))
	if err != nil {
		return r.path
	}
	return strings.TrimSuffix(filepath.ToSlash(real), "/") + "/" + rest
}

// matchesPath matches a path that is absolute or relative to root. A pattern
// without a slash is of names at any depth, as in .gitignore.
func matchesPath(pattern, root, path string) bool {
	absolute := strings.HasPrefix(path, "/") || strings.Contains(path, ":/")
	switch {
	case strings.HasPrefix(pattern, "/") || strings.Contains(pattern, ":/"):
		if !absolute {
			path = strings.TrimSuffix(root, "/") + "/" + path
		}
	case strings.HasPrefix(pattern, "../"):
		if !absolute {
			return false
		}
		pattern = clean(root + "/" + pattern)
	case !strings.Contains(pattern, "/"):
		path = path[strings.LastIndexByte(path, '/')+1:]
	case absolute:
		return false
	}
	return doublestar.MatchUnvalidated(pattern, path)
}

// clean takes ".." out of a pattern, up to its first wildcard.
func clean(pattern string) string {
	base, rest := doublestar.SplitPattern(pattern)
	return strings.TrimSuffix(filepath.ToSlash(filepath.Clean(filepath.FromSlash(base))), "/") + "/" + rest
}
