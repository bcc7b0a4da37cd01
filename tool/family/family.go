package family

import "slices"

// Family is a family of models that were trained on the same tools.
type Family string

// The families. None changes nothing, for programs with their own tools.
const (
	None   Family = ""
	Settle Family = "settle" // settle's own names: shell and exact replacement
	GPT    Family = "gpt"    // Codex's names: exec_command, write_stdin, apply_patch, update_plan
	Claude Family = "claude" // Claude Code's names: Bash, Read, Edit, Write, Grep, Glob, TodoWrite
)

// All returns the families that can be chosen.
func All() []Family { return []Family{Settle, GPT, Claude} }

// hidden are the tools that a family is not offered because another tool of the session
// replaces them. Calls of them work.
func (f Family) hidden() map[string]string {
	switch f {
	case Settle:
		return map[string]string{"apply_patch": "edit", "list": "shell"}
	case GPT:
		return map[string]string{
			"edit": "apply_patch", "write": "apply_patch",
			"read": "shell", "list": "shell", "glob": "shell", "grep": "shell",
		}
	case Claude:
		return map[string]string{"apply_patch": "edit", "list": "shell"}
	case None:
	}
	return nil
}

// forms are the family's forms of tools, in the order of the search; tools without a form
// keep settle's.
func (f Family) forms() []*form {
	switch f {
	case GPT:
		return gptForms()
	case Claude:
		return claudeForms()
	case Settle:
		return settleForms()
	case None:
	}
	return nil
}

// settleForms are the forms of settle's own tools with arguments for other families.
func settleForms() []*form {
	return []*form{
		{name: "shell", tool: "shell", offered: true, omitted: []string{"yield_ms"}},
		{name: "grep", tool: "grep", offered: true, omitted: []string{"show"}},
	}
}

// ToolOf returns settle's name of a tool that a family names; "" for an unknown name.
func ToolOf(name string) string {
	if f := Claude.named(name); f != nil {
		return f.tool
	}
	return ""
}

// named returns the form with the name, preferably the family's.
func (f Family) named(name string) *form {
	if f == None {
		return nil
	}
	for _, of := range append([]Family{f}, All()...) {
		forms := of.forms()
		if n := slices.IndexFunc(forms, func(x *form) bool { return x.name == name }); n >= 0 {
			return forms[n]
		}
	}
	return nil
}
