package terminal_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/terminal"
)

func TestNotifications(t *testing.T) {
	for _, c := range []struct {
		how     terminal.Notification
		through terminal.Passthrough
		want    string
	}{
		{terminal.Bell, terminal.Direct, "\a"},
		{terminal.Bell, terminal.Tmux, "\a"},
		{terminal.Silent, terminal.Direct, ""},
		{terminal.OSC9, terminal.Direct, "\x1b]9;settle: it asks\a"},
		{terminal.OSC777, terminal.Direct, "\x1b]777;notify;settle;it asks\a"},
		{terminal.OSC9, terminal.Tmux, "\x1bPtmux;\x1b\x1b]9;settle: it asks\a\x1b\\"},
		{terminal.OSC777, terminal.GNU, "\x1bP\x1b]777;notify;settle;it asks\a\x1b\\"},
	} {
		if got := string(c.how.Append(nil, c.through, "settle", "it asks")); got != c.want {
			t.Errorf("%s through %q: %q, want %q", c.how, c.through, got, c.want)
		}
	}
}

// A text of a model or a tool does not act on the terminal in a notification either.
func TestNotificationsAreHarmless(t *testing.T) {
	foreign := "a\x1b]0;x\a\x1b\\b\u009c;c\n\u202ed" + strings.Repeat("e", 500)
	for _, how := range []terminal.Notification{terminal.OSC9, terminal.OSC777} {
		got := string(how.Append(nil, terminal.Direct, "settle", foreign))
		body := strings.TrimSuffix(strings.TrimPrefix(got, "\x1b]"), "\a")
		if strings.ContainsAny(body, "\x1b\a\n\u009c\u202e") || len([]rune(body)) > 200 ||
			strings.Count(body, ";") > 3 {
			t.Errorf("%s: %q", how, got)
		}
	}
}

func TestThemes(t *testing.T) {
	line := terminal.Line{
		{Text: "r", Style: terminal.Style{Color: terminal.Red, Attr: terminal.Bold}},
		{Text: "f", Style: terminal.Style{Attr: terminal.Faint}},
	}
	for name, want := range map[string]string{
		"":        "\x1b[0;1;31mr\x1b[0;2mf\x1b[0m",
		"default": "\x1b[0;1;31mr\x1b[0;2mf\x1b[0m",
		"light":   "\x1b[0;1;38;5;124mr\x1b[0;38;5;242mf\x1b[0m",
		"dark":    "\x1b[0;1;38;5;210mr\x1b[0;38;5;246mf\x1b[0m",
		"none":    "\x1b[0;1mr\x1b[0;2mf\x1b[0m",
	} {
		theme, ok := terminal.ThemeNamed(name)
		if ok == (name == "") {
			t.Errorf("there is a theme %q: %v", name, ok)
		}
		p := terminal.Palette{Color: true, Attributes: true, Theme: theme}
		if got := string(p.Append(nil, line)); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
		p.Color = false // NO_COLOR
		if got := string(p.Append(nil, line)); got != "\x1b[0;1mr\x1b[0;2mf\x1b[0m" {
			t.Errorf("%q without colors: %q", name, got)
		}
	}
	for _, theme := range terminal.Themes()[:3] {
		for c := terminal.Red; c <= terminal.Cyan; c++ {
			if theme.Codes[c] == "" {
				t.Errorf("%s has no color %d", theme.Name, c)
			}
		}
	}
}
