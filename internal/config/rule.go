package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/event"
)

// Rule decides about the calls that it matches. Package policy, which applies
// rules, refuses those that it cannot use.
type Rule struct {
	// Tool is the name of a tool, or "*" for all. A rule for one of edit,
	// write and apply_patch is for all that changes files, and one for read is
	// for all that reads them, by shell commands too where that can be seen.
	Tool string
	// Pattern is of what the call does: for shell, the words of one command;
	// for job, its action; for others, a path. Empty matches every call.
	Pattern  string
	Decision event.Permission
	// Sandbox is what commands are confined to that the rule allows; empty for what
	// others are.
	Sandbox event.Sandbox
	// Tightens says that the rule is somebody else's, a repository's: it may
	// forbid and ask, but where it asks it does not undo a default of Deny,
	// and it may not allow.
	Tightens bool
	// Imported says that it was written for another agent. It is about the calls and
	// commands that settle can see through, as it is there, and about the scripts that
	// name its program: it has no others asked about.
	Imported bool
	Origin   Origin
}

// Literal is the pattern of a path that is taken to the letter.
func Literal(path string) string {
	return strings.NewReplacer(`\`, `[\\]`, "*", "[*]", "?", "[?]", "[", "[[]", "{", "[{]", "}", "[}]").Replace(filepath.ToSlash(path))
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
	word, err := asText(value)
	if err != nil {
		return "", err
	}
	options := permissions()
	if !slices.Contains(options, word) {
		return "", fmt.Errorf("%q is not one of %s%s", word, strings.Join(options, ", "), hint(word, options))
	}
	return event.Permission(word), nil
}

func asSandbox(value any) (event.Sandbox, error) {
	word, err := asText(value)
	if options := sandboxes(); err == nil && !slices.Contains(options, word) {
		err = fmt.Errorf("%q is not one of %s%s", word, strings.Join(options, ", "), hint(word, options))
	}
	return event.Sandbox(word), err
}

// sandboxes are the words for them, from the loosest to the strictest.
func sandboxes() []string {
	return []string{string(event.NoSandbox), string(event.Workspace), string(event.ReadOnly)}
}

// permissions are the words for them, from the loosest to the strictest.
func permissions() (words []string) {
	for _, p := range event.Permissions() {
		words = append(words, string(p))
	}
	return words
}
