package tui

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/terminaltest"
	"github.com/settle-agent/settle/model/script"
)

// The menu of themes shows the live region in the selected theme, and changes nothing until one is chosen.
func TestThemeSample(t *testing.T) {
	s := newStage(terminaltest.NewGrid(80, 30), terminal.ReflowAll, 80, 30)
	s.Palette = terminal.Palette{Color: true, Attributes: true}.With("default")
	s.theme("")
	s.UI.take(terminal.Key{Name: "down"}) // light
	frame := s.frame(time.Now())
	text := ""
	for _, row := range frame.Rows {
		text += row.Text() + "\n"
	}
	for _, want := range []string{
		"› light", "  auto", "│ ? settle asks before this call", `+  print("bonjour")`, `return "text", 42  # a comment`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if frame.Palette == nil || frame.Palette.Theme.Name != "light" || s.Palette.Theme.Name != "default" {
		t.Errorf("the frame has %v, the rows %q", frame.Palette, s.Palette.Theme.Name)
	}
	s.UI.take(terminal.Key{Name: "esc"})
	if frame := s.frame(time.Now()); frame.Palette != nil || s.Palette.Theme.Name != "default" {
		t.Errorf("after Esc, the frame has %v, the rows %q", frame.Palette, s.Palette.Theme.Name)
	}
	s.theme("")
	s.UI.take(terminal.Key{Name: "down"})
	s.UI.take(terminal.Key{Name: "enter"})
	if s.Palette.Theme.Name != "light" {
		t.Errorf("the rows have %q", s.Palette.Theme.Name)
	}
}

// The theme auto follows each report of the terminal, and another theme none.
func TestThemeFollowsBackground(t *testing.T) {
	s := newStage(terminaltest.NewGrid(80, 24), terminal.ReflowAll, 80, 24)
	s.Palette = terminal.Palette{Color: true}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { s.UI.take(terminal.Background{Dark: true}) }, ""},
		{func() { s.theme("auto") }, "dark"},
		{func() { s.UI.take(terminal.Background{Dark: false}) }, "light"},
		{func() { s.theme("none") }, "none"},
		{func() { s.UI.take(terminal.Background{Dark: true}) }, "none"},
		{func() { s.theme("auto") }, "dark"},
	} {
		if step.do(); s.Palette.Theme.Name != step.want {
			t.Fatalf("the theme is %q, want %q", s.Palette.Theme.Name, step.want)
		}
	}
}

// With a silent terminal, the first frame comes all the same, and no key is lost meanwhile.
func TestSilentTerminalAndTypedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPerson(t, Options{AutoTheme: true}, script.Turn(script.Text("An answer.")))
		p.sees("asks before changes")
		p.types("on\x1b]11;rgb:ff/ff/ff\x1b\\e\r")
		p.sees("▌ one", "An answer.")
		p.types("\x04")
		p.left(code, 0)
	})
}
