package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Rule says whether calls of a tool may run; what a pattern means is told by
// policy.Rule, which also refuses those that it cannot use.
type Rule struct {
	Tool     string
	Pattern  string
	Decision string // allow, ask or deny
	// Tightens says that it is a project's.
	Tightens bool
	Origin   Origin
}

func (r Rule) String() string {
	return strings.TrimSpace(r.Decision + " " + r.Tool + " " + r.Pattern)
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

func asDecision(value any) (string, error) {
	word, err := asText(value)
	if err != nil {
		return "", err
	}
	options := []string{"allow", "ask", "deny"}
	if !slices.Contains(options, word) {
		return "", fmt.Errorf("%q is not one of %s%s", word, strings.Join(options, ", "), hint(word, options))
	}
	return word, nil
}
