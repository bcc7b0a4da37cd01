package tui

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
	"github.com/settle-agent/settle/internal/terminal/terminaltest"
	"github.com/settle-agent/settle/model/script"
)

// mapped returns the keys of a preset with a person's own.
func mapped(t *testing.T, preset string, own map[string][]string) keymap.Map {
	t.Helper()
	m, err := keymap.New(preset, false, own)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Keys have the actions of the preset and of the person's own keys, and hints name them.
func TestConfiguredKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := mapped(t, "claude", map[string][]string{
			keymap.Interrupt: {"ctrl+x"}, keymap.Deny: {"z"}, keymap.AllowOnce: {"f2"},
		})
		p, code := newPerson(t, Options{Keys: keys},
			script.Turn(script.Call("shell", `{"command":"one"}`)),
			script.Turn(script.Call("shell", `{"command":"count"}`)),
			script.Turn(script.Text("done")))
		p.types("go\r")
		p.sees("1 allow once", "F2", "deny ", " z", "Ctrl-X")
		p.types("n")
		p.sees("> n") // it is text now
		p.types("\x7f")
		p.types("z")
		p.sees("✗ $ one  denied")
		p.types("\x1bOQ") // F2
		p.sees("● $ count")
		p.types("more\r") // Claude Code adds an input to the turn
		p.sees("↳ joins the next request: more")
		p.types("\x1b")
		p.sees("● $ count")
		p.types("\x18")
		p.sees("interrupted after")
		p.types("\x14") // Ctrl-T
		p.sees("the model has made no plan in this session")
		p.types("\x04")
		p.left(code, 0)
	})
}

// With Enter for a new line, a completed command is not sent by Enter.
func TestEnterBeginsLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := mapped(t, "default", map[string][]string{keymap.Newline: {"enter"}, keymap.Send: {"ctrl+s"}})
		p, code := newPerson(t, Options{Keys: keys}, script.Turn(script.Text("An answer.")))
		p.types("/cos\r")
		p.sees("> /cost")
		p.misses("An answer.", "no cost")
		p.types("\x03one\rtwo")
		p.sees("> one", "  two")
		p.types("\x13")
		p.sees("▌ one", "▌ two", "An answer.")
		p.types("\x04")
		p.left(code, 0)
	})
}

// The reference has each action with its keys in each preset.
func TestReferenceListsActions(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/terminal.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range keymap.Actions() {
		row := "| `" + a.Name + "` | " + a.About + " |"
		usual := mapped(t, "default", nil).Labels(a.Name)
		for _, preset := range []string{"default", "claude", "codex"} {
			keys := mapped(t, preset, nil).Labels(a.Name)
			if preset != "default" && keys == usual && keys != "" {
				keys = "same"
			}
			row += " " + strings.TrimSpace(keys+" |")
		}
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("docs/reference/terminal.md lacks:\n%s", row)
		}
	}
}

// The pager of the transcript has its key in the preset, which also closes it; /keys shows all keys.
func TestKeysOfPager(t *testing.T) {
	s := newStage(terminaltest.NewGrid(80, 24), terminal.ReflowAll, 80, 24)
	s.Keys = mapped(t, "codex", map[string][]string{keymap.Transcript: {"f3"}, keymap.Send: {"f2"}})
	for _, open := range []bool{true, false} {
		s.UI.take(terminal.Key{Name: "f3"})
		if got := s.overlay.pager != nil; got != open {
			t.Fatalf("the pager is open: %t, want %t", got, open)
		}
	}
	s.command("keys", "")
	all := ""
	for _, part := range s.overlay.pager.sheet {
		for _, row := range part(100) {
			all += row.Text() + "\n"
		}
	}
	for _, want := range []string{"Keys: codex, send=f2, transcript=f3", "F2 (yours)", "no key", "Alt-,"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not among the keys:\n%s", want, all)
		}
	}
}
