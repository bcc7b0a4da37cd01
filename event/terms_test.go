package event

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// The glossary has the table, row for row.
func TestGlossaryHasTerms(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range slices.Concat(AnswerTerms(), ModeTerms(), EndingTerms()) {
		row := strings.ReplaceAll(
			fmt.Sprintf("\n| `%s` | %s | %s |\n", term.Value, term.Words, term.Past), "|  |", "| |",
		)
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/reference/glossary.md has no row %q", row)
		}
	}
}

func TestTermsCoverEveryValue(t *testing.T) {
	for _, v := range []Verdict{Approved, ApprovedSession, Denied, ApprovalAborted, Expired} {
		if _, ok := valueOf(AnswerTerms(), string(v)); !ok || v.Words() == "" || v.Past() == "" {
			t.Errorf("verdict %q has no words", v)
		}
	}
	for _, p := range Permissions() {
		if p != Deny {
			if _, ok := valueOf(ModeTerms(), string(p)); !ok {
				t.Errorf("permission %q has no words", p)
			}
		}
	}
	for _, r := range []Reason{Interrupted, Replaced, Shutdown, Crashed, LimitReached, Parent, MachineLost, TimedOut} {
		if _, ok := valueOf(EndingTerms(), string(r)); !ok {
			t.Errorf("reason %q has no words", r)
		}
	}
}

func valueOf(terms []Term, value string) (Term, bool) {
	for _, one := range terms {
		if one.Value == value {
			return one, true
		}
	}
	return Term{}, false
}

// The description of a mode begins with the mode's own words, so that no reader takes them for two
// modes.
func TestPermissionWordsBeginWithTheMode(t *testing.T) {
	sandboxed := &Confinement{Mode: Workspace}
	for _, c := range []struct {
		mode     string
		confined *Confinement
		want     string
	}{
		{"ask", nil, "asks before changes"},
		{"ask", sandboxed, "asks before edits, commands sandboxed in this directory"},
		{"accept-edits", &Confinement{Mode: NoSandbox}, "accepts edits, asks before commands"},
		{"accept-edits", sandboxed, "accepts edits, commands sandboxed in this directory"},
		{"read-only", sandboxed, "read-only, refuses changes"},
		{"deny", nil, "read-only, refuses changes"},
		{"allow", nil, "allows every call"},
		{"allow", sandboxed, "allows every call"},
		{"of a later version", nil, "of a later version"},
	} {
		got := PermissionSentence(c.mode, c.confined)
		if first, _, _ := strings.Cut(ModeWords(c.mode), " "); got != c.want || !strings.HasPrefix(got, first) {
			t.Errorf("mode %q: %q, want %q", c.mode, got, c.want)
		}
		if got := ModeEffect(c.mode, c.confined); got != strings.TrimPrefix(c.want, "read-only, ") {
			t.Errorf("effect of mode %q: %q", c.mode, got)
		}
	}
}

// A session with one mode shows whether its commands are sandboxed.
func TestOneModeSentence(t *testing.T) {
	sandboxed, none := &Confinement{Mode: Workspace}, &Confinement{Mode: NoSandbox, Missing: "no Landlock"}
	for _, c := range []struct {
		mode     string
		confined *Confinement
		want     string
	}{
		{"allow", nil, "allows every call"},
		{"allow", &Confinement{Mode: NoSandbox}, "allows every call"},
		{"allow", sandboxed, "allows every call, commands sandboxed in this directory"},
		{"allow", &Confinement{Mode: ReadOnly}, "allows every call, commands sandboxed, change nothing"},
		{"allow", none, "allows every call, commands not sandboxed"},
		{"ask", sandboxed, "asks before edits, commands sandboxed in this directory"},
		{"ask", none, "asks before changes, commands not sandboxed"},
		{"deny", sandboxed, "read-only, refuses changes"},
	} {
		if got := OneModeSentence(c.mode, c.confined); got != c.want {
			t.Errorf("mode %q: %q, want %q", c.mode, got, c.want)
		}
	}
}

func TestTermWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Approved.Words(), "allow once"},
		{ApprovedSession.Past(), "allowed for the session"},
		{ApprovalAborted.Words(), "stop the turn"},
		{Verdict("later").Past(), "later"},
		{ModeWords("accept-edits"), "accept edits"},
		{ModeWords("deny"), "read-only"},
		{EndingWords(Aborted, Shutdown), "shut down"},
		{EndingWords(Aborted, ""), "aborted"},
		{EndingWords(Failed, ""), "failed"},
		{EndingWords("", ""), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
