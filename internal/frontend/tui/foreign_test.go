package tui

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/internal/terminal/keymap"
	"github.com/settle-agent/settle/model/script"
)

// Names of other agents' commands run settle's equivalent, or show it. A command of the user with
// such a name has precedence, and a complete name is not taken for a longer one.
func TestForeignCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rich{}
		o := Options{Sessions: r, Commands: commandsIn(t, "undo.md", "Look at $1.")}
		p, code := newPerson(t, o, script.Turn(script.Text("I looked.")))
		first := r.talk.ID()
		p.types("/cle")
		p.sees("› /clear", "as /new")
		p.types("ar\r")
		if r.talk.ID() == first {
			t.Error("/clear made no new session")
		}
		p.types("/approvals\r")
		p.sees("Mode (Enter changes it)")
		p.types("\x1b")
		p.types("/mcp\r")
		p.sees(
			"there is no /mcp here: /status shows the MCP servers in use;",
			"in a shell, settle mcp-servers lists and tests",
		)
		p.misses("> /mcp")
		p.types("/ps\r") // and not /permissions
		p.sees("this session has started no jobs")
		p.types("/undo it\r")
		p.sees("I looked.")
		p.types("/q\r") // and not /queue
		p.left(code, 0)
	})
}

// Each name has one meaning, settle has no command of the name, an alias is for a command that there is, and a
// counterpart names only commands that there are.
func TestForeignNamesAreConsistent(t *testing.T) {
	seen := map[string]bool{}
	once := func(name string) {
		if seen[name] || isOwn(name) || !isName(name) || !isForeign(name) {
			t.Errorf("%q: twice %t, settle's %t", name, seen[name], isOwn(name))
		}
		seen[name] = true
	}
	for alias, name := range aliases() {
		if once(alias); !isOwn(name) {
			t.Errorf("%q is for %q, which is none", alias, name)
		}
	}
	for _, c := range counterparts(keymap.Map{}) {
		for name := range strings.FieldsSeq(c.names) {
			once(name)
		}
		for word := range strings.FieldsSeq(c.words()) {
			name, isCommand := strings.CutPrefix(strings.Trim(word, ",;"), "/")
			if isCommand && !isOwn(name) {
				t.Errorf("%q: there is no %q", c.names, word)
			}
		}
	}
}

// The reference lists each name.
func TestReferenceListsForeignNames(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/terminal.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "### Names of other agents")
	section, _, _ = strings.Cut(section, "\n##")
	words := strings.FieldsFunc(section, func(r rune) bool { return strings.ContainsRune(" `|,.;\n", r) })
	var names []string
	for alias := range aliases() {
		names = append(names, alias)
	}
	for _, c := range counterparts(keymap.Map{}) {
		names = append(names, strings.Fields(c.names)...)
	}
	for _, name := range names {
		if !slices.Contains(words, "/"+name) {
			t.Errorf("there is no /%s", name)
		}
	}
}
