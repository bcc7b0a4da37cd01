package policy

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/policy/effects"
	"github.com/settle-agent/settle/tool/mcp"
)

// rule is a compiled rule.
type rule struct {
	config.Rule
	command commandPattern // of shell
	path    string         // a pattern for paths, with slashes; "~" is replaced
	// globs are path as absolute patterns: as named, and with the links in its leading
	// directory resolved.
	globs []string
	// ofMode marks a rule of the mode, which comes from a client instead of the user.
	ofMode bool
}

// match is the result of matching a rule with an effect.
type match int

const (
	no match = iota
	maybe
	yes
)

func (r rule) String() string {
	return strings.TrimSpace("rule " + r.Tool + " " + r.Pattern)
}

// isEditor reports whether a tool changes files. Rules treat the editors as one tool,
// because the model decides which of them is offered.
func isEditor(tool string) bool { return tool == "edit" || tool == "write" || tool == "apply_patch" }

// isReader reports whether a rule for "read" applies to a tool.
func isReader(tool string) bool {
	return tool == "read" || tool == "grep" || tool == "glob" || tool == "list"
}

// Check returns an error for an invalid rule.
func Check(r config.Rule, dir, home string) error {
	_, err := newRule(r, dir, home)
	return err
}

func newRule(r config.Rule, dir, home string) (rule, error) {
	c := rule{Rule: r}
	switch {
	case r.Decision.Strictness() < 0:
		return c, fmt.Errorf("the decision %q is not one of allow, ask, deny", r.Decision)
	case r.Tightens && r.Decision == event.Allow:
		return c, errors.New("a project's rule may ask or deny, not allow")
	case r.Tool == "":
		return c, errors.New(`it names no tool; "*" is all of them`)
	case strings.ContainsAny(r.Tool, " \t\n") || r.Tool != "*" &&
		strings.Contains(strings.TrimSuffix(r.Tool, mcp.Separator+"*"), "*"):
		return c, fmt.Errorf(
			`%q is not the name of a tool; a pattern has its own key, "*" is all tools, and "NAME__*" all tools of a server`,
			r.Tool,
		)
	case r.Pattern == "" || r.Pattern == "*" || r.Pattern == "**":
		c.Pattern = ""
		return c, nil
	case r.Tool == "shell":
		return c, c.forCommands()
	}
	return c, c.forPaths(dir, home)
}

func (r *rule) forCommands() error {
	for _, operator := range []string{"&&", "||", ";", "|", "&", "<", ">", "`", "$(", "\n"} {
		if strings.Contains(r.Pattern, operator) {
			return fmt.Errorf(
				"the pattern %q contains %q; a pattern is of one simple command, and each command of a call is judged by itself",
				r.Pattern,
				operator,
			)
		}
	}
	words := strings.Fields(r.Pattern)
	if len(words) == 0 {
		return fmt.Errorf("the pattern %q is blank", r.Pattern)
	}
	r.command = newCommandPattern(words)
	return nil
}

func (r *rule) forPaths(dir, home string) error {
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
	if r.path = strings.TrimPrefix(pattern, "./"); !doublestar.ValidatePattern(r.path) {
		return fmt.Errorf("the pattern %q is not a valid glob; is a bracket or brace left open?", r.Pattern)
	}
	if !strings.Contains(r.path, "/") { // at any depth, as in .gitignore
		r.globs = []string{"**/" + r.path}
		return nil
	}
	base, rest := doublestar.SplitPattern(r.path)
	named := absolute(dir, filepath.FromSlash(base))
	real, err := disk.Resolve(named)
	if err != nil {
		real = named // no program can open a path behind a loop of links
	}
	for _, base := range []string{filepath.Clean(named), real} {
		r.globs = append(r.globs, strings.TrimSuffix(config.Literal(base), "/")+"/"+rest)
	}
	return nil
}

// isInside reports whether the pattern matches paths in the working directory.
func (r rule) isInside() bool {
	return !strings.HasPrefix(r.path, "../") && !filepath.IsAbs(filepath.FromSlash(r.path))
}

// about reports whether the rule applies to effects of this kind of a call.
func (r rule) about(c toolCall, e effect) bool {
	isPath := e.place.named != ""
	switch {
	case e.kind == starts:
		return r.aboutStart(e)
	case r.Tool == "*":
		return r.Pattern == "" || isPath || e.kind == does
	case r.Tool == "shell" && c.tool == "shell":
		return r.Pattern == "" || e.kind == runs || e.kind == hidden
	// other calls need an approval anyway
	case r.Tool == "shell" && r.Imported && c.tool == "job" && e.kind == hidden:
		return true
	case isEditor(r.Tool):
		return e.kind == effects.Writes || e.kind == names
	case r.Tool == "read":
		return e.kind == effects.Reads || e.kind == names || e.kind == effects.Looks && isReader(c.tool)
	}
	if server, ok := strings.CutSuffix(r.Tool, "*"); ok {
		return strings.HasPrefix(c.tool, server)
	}
	return r.Tool == c.tool || r.Tool == mcp.ResourcesName && c.resources
}

// aboutStart reports whether the rule applies to the start of a server that a client named.
// A client's rule for that server's tools also allows its start; the user's own rules for
// tools can mean another server of that name.
func (r rule) aboutStart(e effect) bool {
	switch {
	case r.Tool == "*":
		return r.Pattern == ""
	case r.ofMode && r.Decision == event.Allow:
		return mcp.Serves(e.action, r.Tool) || r.Tool == mcp.StartName
	}
	return r.Tool == mcp.StartName
}

// forbids reports whether a rule that asks or denies applies to the effect, or to the files
// of a command.
func (r rule) forbids(c toolCall, e effect) match {
	best := no
	for _, part := range e.parts {
		if r.path != "" {
			best = max(best, r.forbids(c, part))
		}
	}
	switch {
	case !r.about(c, e):
		return best
	case r.Pattern == "":
		return yes
	case e.kind == hidden && r.Imported && !strings.Contains(strings.ToLower(c.Command+c.Input), r.command.name):
		return no
	case e.kind == hidden:
		return maybe
	case e.kind == runs:
		return max(best, r.command.forbids(e, c.harmless))
	case e.place.named != "" && r.covers(e.place):
		if e.kind == names {
			return maybe
		}
		return yes
	case e.wide:
		return maybe // it can match a path below
	case matches(strings.ToLower(r.Pattern), strings.ToLower(e.action)):
		return yes
	}
	return no
}

// covers reports whether the pattern matches a path, or a directory above it. Case is
// ignored, because many file systems ignore it.
func (r rule) covers(p place) bool {
	for _, path := range []string{p.real, p.named} {
		path = strings.ToLower(filepath.ToSlash(path))
		if slices.ContainsFunc(r.globs, func(glob string) bool {
			glob = strings.ToLower(glob)
			return matches(glob, path) || matches(glob+"/**", path)
		}) {
			return true
		}
	}
	return false
}

func matches(glob, text string) bool { return text != "" && doublestar.MatchUnvalidated(glob, text) }

// allows reports whether a rule that allows applies to the effect. A wide pattern applies neither
// outside the working directory nor to secret or guarded files: a pattern must name such files.
func (r rule) allows(c toolCall, e effect) bool {
	isPath := e.place.named != ""
	switch {
	case !r.about(c, e):
		return false
	case r.Pattern == "" || e.kind == starts && r.Tool != mcp.StartName:
		return !isPath || e.kind == does || e.place.inside && !e.sensitive
	case e.kind == runs:
		return r.command.allows(e.words)
	case !isPath:
		return matches(r.Pattern, e.action)
	case e.sensitive && !r.names(e) || !e.place.inside && r.isInside():
		return false
	}
	return slices.ContainsFunc(r.globs, func(glob string) bool { return matches(glob, filepath.ToSlash(e.place.real)) })
}

// names reports whether the pattern itself is the name of such a file: of a secret file, of
// one with an exact path, or of a guarded file.
func (r rule) names(e effect) bool {
	name := strings.ReplaceAll(r.path, "*", "")
	if e.place.secret() {
		return Secret(name)
	}
	if e.kind == effects.Writes && e.place.ofRepository() && name == r.path {
		return true
	}
	return e.kind == effects.Reads && name == r.path || e.kind != effects.Reads && place{rel: name}.guarded()
}
