package tui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/model/script"
)

// folder is a directory with empty files.
func folder(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A path after "@" is completed; the model gets the path.
func TestFileCompletion(t *testing.T) {
	dir := folder(t, "internal/face/keys.go", "internal/face/face.go", "README.md", "a file.txt")
	synctest.Test(t, func(t *testing.T) {
		p, code := newPersonIn(t, dir, Options{}, script.Turn(script.Text("read")))
		p.types("look at @fc")
		p.sees("› internal/face/", "  internal/face/face.go")
		p.types("/k")
		p.sees("› internal/face/keys.go")
		p.types("\t")
		p.sees("> look at @internal/face/keys.go")
		p.types("and @afile")
		p.types("\r")
		p.sees(`> look at @internal/face/keys.go and @"a file.txt"`)
		p.types("and @READ")
		p.types("\x1b")
		p.types("\r") // Esc has closed the list: it is sent as it is
		p.sees("@\"a file.txt\" and @READ", "✓ ")
		p.types("\x04")
		p.left(code, 0)
	})
}

// Esc closes a list of completions, also one without entries, and only then interrupts.
func TestEscClosesCompletionsBeforeItInterrupts(t *testing.T) {
	dir := folder(t, "a.txt")
	for keys, list := range map[string]string{
		"see @a": "› a.txt", "/the": "› /theme", "see @nosuch": "no file has these letters",
		"/nosuch": "no command has these letters",
	} {
		synctest.Test(t, func(t *testing.T) {
			p, code := newPersonIn(t, dir, Options{}, script.Turn(script.Call("shell", `{"command":"count"}`)))
			p.types("Count!\r")
			p.types("y")
			p.types(keys)
			p.sees(list)
			p.types("\x1b")
			p.misses(list, "interrupted")
			p.sees("working", "> "+keys)
			p.types("\x1b")
			p.sees("■ interrupted after")
			p.types("\x03\x04")
			p.left(code, 0)
		})
	}
}

// PgUp and PgDn move in the list of commands.
func TestPagesOfCompletions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(t, Options{})
		p.types("/")
		p.types("\x1b[6~")
		p.misses("› /model")
		p.sees("› /")
		p.types("\x1b[5~")
		p.sees("› /model")
		p.types("\x03\x04")
		p.left(code, 0)
	})
}

// Commands are completed; Enter runs one that needs nothing more.
func TestCommandCompletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(t, Options{})
		p.types("/re")
		p.sees("› /resume [ID]", "  /rewind         go back", "  /rename NAME    name")
		p.types("\x1b[B\x1b[A\t")
		p.sees("> /resume")
		p.types("\x15/jobs\r")
		p.types("/")
		p.sees("› /jobs") // the command used last
		p.types("\x15/qt")
		p.sees("› /quit")
		p.types("\r") // these are its letters, and not its beginning: it is not run
		p.sees("> /quit")
		p.types("\r")
		p.left(code, 0)
	})
}

// A menu narrows by letters in their order, if no entry has the words.
func TestMenuNarrowsByLetters(t *testing.T) {
	m := &menu{all: []choice{{id: "a", label: "anthropic/claude-opus"}, {id: "b", label: "openai/gpt", detail: "opus"}}}
	for words, want := range map[string]string{
		"": "ab", "opus": "ab", "clop": "a", "oagt": "b", "opus claude": "a", "xyz": "",
	} {
		m.words = words
		m.narrow()
		got := ""
		for _, c := range m.list.choices {
			got += c.id
		}
		if got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

// A recalled command does not catch the arrows.
func TestHistoryRecallOffersNoCompletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(t, Options{}, script.Turn(script.Text("one")))
		p.types("first\r")
		p.types("/jobs\r")
		p.types("\x1b[A\x1b[A")
		rows := slices.DeleteFunc(p.tty.rows(), func(row string) bool { return strings.TrimSpace(row) == "" })
		if last := strings.TrimRight(rows[len(rows)-1], " "); last != "> first" {
			t.Errorf("it is not the prompt of before: %q", last)
		}
		p.types("\x03\x04")
		p.left(code, 0)
	})
}

func TestListRows(t *testing.T) {
	l := list{
		choices: []choice{
			{label: "a", group: "One"},
			{label: "b", group: "One"},
			{label: "c", group: "Two"},
			{label: "d", group: "Two"},
		},
		at: 2,
	}
	shown := func(most int) string {
		var got []string
		for _, row := range l.rows(40, most) {
			got = append(got, strings.TrimRight(row.Text(), " "))
		}
		return strings.Join(got, "|")
	}
	for most, want := range map[int]string{
		6: "One|  a|  b|Two|› c|  d",
		4: "  b|Two|› c|  d",
		3: "Two|› c|  d",
		1: "› c",
	} {
		if got := shown(most); got != want {
			t.Errorf("%d rows: %q, want %q", most, got, want)
		}
	}
	for range 8 {
		l.choices = append(l.choices, choice{label: "e", group: "Two"})
	}
	for at, want := range map[int]string{
		5: "Two|  e|› e|  … 6 more", 11: "Two|  e|  e|› e", 2: "  b|Two|› c|  … 9 more",
	} {
		l.at = at
		if got := shown(4); got != want {
			t.Errorf("the selection at %d: %q, want %q", at, got, want)
		}
	}
}
