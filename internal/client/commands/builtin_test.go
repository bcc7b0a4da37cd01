package commands_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/skills"
)

// place is a source of the commands in its folders.
type place struct{ from skills.Sources }

func (p place) Sources() skills.Sources { return p.from }
func (p place) Skills() skills.Found    { return skills.Find(p.from) }

// Each frontend expands /init and /review, which the terminal also has; a person's own command of
// the name replaces one.
func TestBuiltInCommands(t *testing.T) {
	_, none := sources(t, nil)
	_, own := sources(t, map[string]string{"home/.config/settle/commands/review.md": "Judge $ARGUMENTS."})
	for _, tc := range []struct {
		from       skills.Sources
		text, want string
	}{
		{none, "/init", "Write AGENTS.md for this repository"},
		{none, "/init \n", "Write AGENTS.md for this repository"},
		{none, "/review", "Review the changes of this working tree that are not committed"},
		{none, "/review main..HEAD", "Review main..HEAD. Look at the diff first"},
		{none, "/review HEAD~3", "Review HEAD~3. Look at the diff first"},
		{own, "/review it", "Judge it."},
		{own, "/review all of it", "Judge all of it."},
		{none, "/status", "/status"},
	} {
		got, _, err := commands.Expansion{Source: place{tc.from}}.Expand(t.Context(), tc.text)
		if err != nil || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, %v", tc.text, got, err)
		}
	}
	var names []string
	for _, c := range commands.Of(place{none}).List {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "init review" {
		t.Errorf("the commands are %q", got)
	}
}

// Text that only begins with the name of a built-in command stays as it is, and so does a call after a space.
func TestTextThatBeginsWithBuiltInCommand(t *testing.T) {
	_, none := sources(t, nil)
	set := commands.Of(place{none})
	for _, text := range []string{
		"/init panics after the kernel update, find out why", "/init in German", "/init\npanics", "/review the parser",
		"/review main..HEAD please", "/review\nmain HEAD", "/review, then fix it", "/review -x", "/review what?",
		" /init", " /review",
	} {
		got, _, err := commands.Expansion{Source: place{none}}.Expand(t.Context(), text)
		if err != nil || got != text {
			t.Errorf("%q becomes %q, %v", text, got, err)
		}
		if got, err := set.Expand(text); err != nil || got != text || set.Calls(text) {
			t.Errorf("%q becomes %q, %v", text, got, err)
		}
	}
}
