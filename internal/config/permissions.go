package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config/claudecode"
	"github.com/settle-agent/settle/internal/repo"
)

// claudePermissions are the rules in a settings file of Claude Code; see
// https://code.claude.com/docs/en/permissions.
type claudePermissions struct {
	Allow []string `json:"allow"`
	Ask   []string `json:"ask"`
	Deny  []string `json:"deny"`
}

// ruleTool returns settle's tool for the name in a rule of Claude Code; "" if settle cannot use
// the rule. There, a rule for Edit also covers all other tools that change files.
func ruleTool(name string) string {
	switch tool := claudecode.Tool(name); tool {
	case "write":
		return "edit"
	case "job", "ask_user", "propose_plan", "mcp_resources": // a rule for the tool would mean more calls
		return ""
	default:
		return tool
	}
}

// ClaudePattern converts the text in the parentheses of a rule of Claude Code to a pattern
// of settle. A path that begins with a slash is below dir, or below the working directory
// if dir is empty.
func ClaudePattern(tool, content, dir string) string {
	if tool == "shell" {
		if begin, ok := strings.CutSuffix(content, ":*"); ok {
			return begin + " *"
		}
		return content
	}
	if tool == "web_fetch" {
		return strings.TrimPrefix(content, "domain:")
	}
	if rest, ok := strings.CutPrefix(content, "//"); ok {
		return "/" + rest // Claude Code's form of an absolute path
	}
	if rest, ok := strings.CutPrefix(content, "/"); ok {
		if dir == "" {
			return rest
		}
		return Literal(dir) + "/" + rest
	}
	if name, is := strings.CutSuffix(content, "/"); is && !strings.Contains(name, "/") &&
		strings.Trim(name, "~.") != "" {
		return "**/" + content // a directory at any depth, as in .gitignore
	}
	return strings.TrimPrefix(content, "./")
}

// claudeRule converts a rule of Claude Code; false if settle has no such tool, or nothing
// that the parentheses can match.
func claudeRule(text, dir string) (Rule, bool) {
	name, content, scoped := strings.Cut(strings.TrimSpace(text), "(")
	r := Rule{Tool: ruleTool(name), Imported: true}
	if content = strings.TrimSuffix(content, ")"); !scoped || content == "*" || content == "**" {
		return r, r.Tool != ""
	}
	switch r.Tool {
	case "", "task", "skill", "plan", "web_search":
		return r, false
	}
	if strings.Contains(r.Tool, "__") || namesArgument(r.Tool, content) {
		return r, false
	}
	r.Pattern = ClaudePattern(r.Tool, content, dir)
	return r, r.Pattern != "" && !strings.HasPrefix(r.Pattern, "!")
}

// namesArgument reports whether the parentheses contain a named argument of Bash.
func namesArgument(tool, content string) bool {
	name, _, _ := strings.Cut(content, ":")
	return tool == "shell" && (name == "run_in_background" || name == "dangerouslyDisableSandbox")
}

// tooWide reports whether settle would allow more hosts than Claude Code, where a wildcard
// matches dots only at the beginning.
func tooWide(r Rule) bool {
	return r.Decision == event.Allow && r.Tool == "web_fetch" && r.Pattern != "*" &&
		strings.Contains(strings.TrimPrefix(r.Pattern, "*."), "*")
}

// importRules adds the rules from settings files of Claude Code: the user's rules before
// settle's own rules, and from a project only the rules that tighten.
func (l *loader) importRules() {
	if !slices.Contains(l.RulesImport, claudeAgent) {
		return
	}
	users := l.foreignFiles()
	if len(users) > 0 { // the first list is Claude Code's
		if p, ok := l.permissions(users[0], readOwned); ok {
			l.Rules = append(l.claudeRules(p, users[0], "", File), l.Rules...)
		}
	}
	if l.in.ProjectConfig == IgnoreProject {
		return
	}
	project := l.in.Trust.Project(l.in.Dir)
	for _, dir := range project.Dirs {
		for _, name := range []string{"settings.json", "settings.local.json"} {
			if path := filepath.Join(dir, ".claude", name); !slices.Contains(users, path) {
				l.importProject(project, dir, path)
			}
		}
	}
}

func (l *loader) importProject(project repo.Project, dir, path string) {
	p, ok := l.permissions(path, project.ReadFile)
	if !ok {
		return
	}
	if n := len(p.Allow); n > 0 {
		p.Allow = nil
		rules, them := "its rule that allows is", "it"
		if n > 1 {
			rules, them = fmt.Sprintf("its %d rules that allow are", n), "them"
		}
		l.Notes = append(l.Notes, fmt.Sprintf(
			"%s: %s not used: a project may only tighten; to set %s for yourself, put %s in %s",
			path, rules, them, them, l.ownFile(),
		))
	}
	for _, r := range l.claudeRules(p, path, dir, Project) {
		r.Tightens = true
		l.Rules = append(l.Rules, r)
	}
}

// permissions reads the rules of a file; false if there are none.
func (l *loader) permissions(path string, read func(string, int64) ([]byte, int64, error)) (claudePermissions, bool) {
	var file struct {
		Permissions claudePermissions `json:"permissions"`
	}
	data, size, err := read(path, maxFile)
	if missing(err) {
		return claudePermissions{}, false
	}
	if err == nil && size > maxFile {
		err = fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		l.Notes = append(l.Notes, fmt.Sprintf("%s: its permissions are not used: %v", path, err))
		return claudePermissions{}, false
	}
	return file.Permissions, true
}

// claudeRules returns the rules of a file, allow rules first, because the last matching
// rule wins. It adds a note for each unusable rule.
func (l *loader) claudeRules(p claudePermissions, path, dir string, kind OriginKind) (rules []Rule) {
	var left []string
	for _, part := range []struct {
		decision event.Permission
		list     []string
	}{{event.Allow, p.Allow}, {event.Ask, p.Ask}, {event.Deny, p.Deny}} {
		for _, text := range part.list {
			r, ok := claudeRule(text, dir)
			r.Decision, r.Origin = part.decision, Origin{Kind: kind, Where: path}
			if !ok || tooWide(r) {
				left = append(left, string(part.decision)+" "+text)
				continue
			}
			rules = append(rules, r)
		}
	}
	if len(left) > 0 {
		l.Notes = append(l.Notes, fmt.Sprintf("%s: settle cannot use these of its permissions: %s", path,
			strings.Join(left, ", ")))
	}
	return rules
}
