package family

import "slices"

// Family is a family of models that were trained on the same tools.
type Family string

// The families. None changes nothing, for programs that bring their own tools.
const (
	None   Family = ""
	Settle Family = "settle" // settle's own names: shell and exact replacement
	GPT    Family = "gpt"    // as Codex has them: exec_command, write_stdin, apply_patch, update_plan
	Claude Family = "claude" // as Claude Code has them: Bash, Read, Edit, Write, Grep, Glob, TodoWrite
)

// All returns the families that can be chosen.
func All() []Family { return []Family{Settle, GPT, Claude} }

// hidden are the tools that a family is not offered where another tool of the
// session does the same for it. They work all the same.
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

// forms are the forms of tools that the family has, in the order in which they
// are looked for; those of no family have settle's own.
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

// settleForms are those of settle's own tools that have arguments for the sake of others.
func settleForms() []*form {
	return []*form{
		{name: "shell", tool: "shell", offered: true, omitted: []string{"yield_ms"}},
		{name: "grep", tool: "grep", offered: true, omitted: []string{"show"}},
	}
}

// named returns the form of the name, of the family if it has one, else of any.
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
