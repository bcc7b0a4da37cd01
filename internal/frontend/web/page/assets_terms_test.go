package page

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
)

// terms.js is the table of package event.
func TestTermsAreThoseOfPackageEvent(t *testing.T) {
	var js strings.Builder
	js.WriteString("// Words for values of the log: the table of event/terms.go, " +
		"written by \"go test -update\" in this package.\n")
	table := func(name, about string, terms []event.Term, value func(event.Term) any) {
		fmt.Fprintf(&js, "\n/** %s */\nexport const %s = {\n", about, name)
		for _, one := range terms {
			text, err := json.Marshal(value(one))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&js, "  %q: %s,\n", one.Value, strings.ReplaceAll(string(text), `","`, `", "`))
		}
		js.WriteString("};\n")
	}
	words := func(one event.Term) any { return one.Words }
	table("answers", "Answers to an approval: what a person chooses, and what was chosen.", event.AnswerTerms(),
		func(one event.Term) any { return []string{one.Words, one.Past} })
	table("modes", "Permission modes.", event.ModeTerms(), words)
	table("plans", "Answers that accept a plan, by the permission mode of the work.", event.PlanTerms(), words)
	table("endings", "Endings of turns, calls and sessions, by outcome or reason.", event.EndingTerms(), words)
	path := filepath.Join("assets", "terms.js")
	if *update {
		if err := os.WriteFile(path, []byte(js.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != js.String() {
		t.Error(
			"assets/terms.js differs from event/terms.go; write it anew: go test ./internal/frontend/web/page -update",
		)
	}
}
