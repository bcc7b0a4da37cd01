package catalog

import "strings"

// familyOf names the tools that the models of a name were trained on: OpenAI's are
// for Codex, Anthropic's for Claude Code.
func familyOf(name string) string {
	for family, begins := range map[string][]string{
		"gpt":    {"gpt-", "codex-", "o3", "o4-"},
		"claude": {"claude-"},
	} {
		for _, begin := range begins {
			if strings.HasPrefix(name, begin) {
				return family
			}
		}
	}
	return ""
}

// Family names the tools that the model was trained on, by its entry or, where there
// is none, by its name; "" if that is not known.
func (t Table) Family(name string) string {
	if m, ok := t.Lookup(name); ok && m.Family != "" {
		return m.Family
	}
	return familyOf(strings.ToLower(name[strings.LastIndexByte(name, '/')+1:]))
}
