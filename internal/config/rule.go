package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/event"
)

// Rule decides the calls that it matches. Package policy applies rules and refuses unusable
// ones.
type Rule struct {
	// Tool is the name of a tool, or "*" for all. A rule for edit, write or apply_patch
	// applies to all changes of files, and a rule for read to all reads of files, also by
	// shell commands as far as the policy can analyse them.
	Tool string
	// Pattern matches the action of the call: for shell, the words of one command; for job,
	// the action; for other tools, a path. An empty pattern matches every call.
	Pattern  string
	Decision event.Permission
	// Sandbox is the sandbox of the commands that the rule allows; empty for the sandbox in
	// force.
	Sandbox event.Sandbox
	// Tightens marks a rule of a repository: it can deny and ask, but not allow, and its
	// "ask" does not override a default of Deny.
	Tightens bool
	// Imported marks a rule that was written for another agent. As there, it applies to
	// calls and commands that the policy can analyse and to scripts that name its program;
	// it adds no approval for other calls.
	Imported bool
	Origin   Origin
}

// Literal is the pattern that matches exactly one path.
func Literal(path string) string {
	return strings.NewReplacer(`\`, `[\\]`, "*", "[*]", "?", "[?]", "[", "[[]", "{", "[{]", "}",
		"[}]").Replace(filepath.ToSlash(path))
}

func (r Rule) String() string {
	return strings.TrimSpace(string(r.Decision) + " " + r.Tool + " " + r.Pattern)
}

// rules reads [[rules]].
func rules(top *table, origin Origin) []Rule {
	value, ok := top.take("rules")
	if !ok {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		top.fail("rules", fmt.Errorf("must be tables, each under [[rules]], not %s", described(value)))
		return nil
	}
	var all []Rule
	for i, one := range list {
		values, ok := one.(map[string]any)
		if !ok {
			top.fail("rules", fmt.Errorf("must be tables, each under [[rules]], not %s", described(one)))
			return nil
		}
		t := &table{doc: top.doc, path: []string{"rules", strconv.Itoa(i + 1)}, values: values, errs: top.errs}
		r := Rule{Origin: Origin{Kind: origin.Kind, Where: t.doc.where(t.path...)}}
		get(t, "tool", &r.Tool, asText)
		get(t, "pattern", &r.Pattern, asText)
		get(t, "decision", &r.Decision, asDecision)
		get(t, "sandbox", &r.Sandbox, asSandbox)
		if r.Sandbox != "" && r.Decision != event.Allow {
			t.fail("sandbox", fmt.Errorf("is only for rules that allow"))
		}
		for _, key := range []string{"tool", "decision"} {
			if _, ok := values[key]; !ok {
				t.fail(key, fmt.Errorf("is missing"))
			}
		}
		t.done()
		all = append(all, r)
	}
	return all
}

func asDecision(value any) (event.Permission, error) {
	return asOneOf[event.Permission](value, permissions())
}

func asSandbox(value any) (event.Sandbox, error) {
	return asOneOf[event.Sandbox](value, sandboxes())
}

// sandboxes are the names of the sandboxes, from the loosest to the strictest.
func sandboxes() []string {
	return []string{string(event.NoSandbox), string(event.Workspace), string(event.ReadOnly)}
}

// permissions are the names of the permissions, from the loosest to the strictest.
func permissions() (words []string) {
	for _, p := range event.Permissions() {
		words = append(words, string(p))
	}
	return words
}
