package keymap_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/terminal/keymap"
)

func TestParseAcceptsSpellings(t *testing.T) {
	for text, want := range map[string]string{
		"ctrl+t": "ctrl+t", "Ctrl-T": "ctrl+t", "control-t": "ctrl+t", "meta+p": "alt+p", "Option-P": "alt+p",
		"shift+tab": "shift+tab", "shift+ctrl+alt+x": "ctrl+alt+shift+x", "Escape": "esc", "return": "enter",
		"page-down": "pgdown", "alt-,": "alt+,", "ctrl+-": "ctrl+-", "ctrl--": "ctrl+-", "ctrl++": "ctrl++",
		"?": "?", "f12": "f12", "-": "-", "cmd+k": "super+k", "ctrl-shift-backspace": "ctrl+shift+backspace",
	} {
		if got, err := keymap.Parse(text); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestParseRefusesBadKeys(t *testing.T) {
	for text, want := range map[string]string{
		"":              `"" is no key`,
		"ctrl+":         `"ctrl+" is no key`,
		"ctrl+entr":     `"ctrl+entr" is no key`,
		"ctrl+x ctrl+e": "has several keys",
		"ctrl+m":        "most terminals send enter for ctrl+m",
		"f25":           `"f25" is no key`,
		"\x1b":          "is no key",
	} {
		if got, err := keymap.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// No preset gives a key two actions, and each key has the name that a terminal's key has.
func TestPresetsAreUnambiguous(t *testing.T) {
	for _, preset := range keymap.Presets() {
		m, err := keymap.New(preset, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range keymap.Actions() {
			for _, key := range m.Keys(a.Name) {
				if got := m.Action(a.Place, key); got != a.Name {
					t.Errorf("%s: %s has %s and %s", preset, key, a.Name, got)
				}
				if name, err := keymap.Parse(key); err != nil || name != key {
					t.Errorf("%s: %s has the name %s, %v", preset, key, name, err)
				}
			}
		}
	}
}

func TestPresetsFollowOtherPrograms(t *testing.T) {
	for preset, want := range map[string]map[string]string{
		"default": {"enter": keymap.Send, "tab": keymap.Steer, "ctrl+t": keymap.Transcript},
		"claude":  {"enter": keymap.SendNow, "ctrl+t": keymap.Plan, "ctrl+o": keymap.Transcript, "alt+p": keymap.Model},
		"codex": {
			"enter": keymap.SendNow, "tab": keymap.Queue, "ctrl+o": keymap.Copy, "ctrl+p": keymap.Up,
			"alt+.": keymap.MoreEffort,
		},
	} {
		m, err := keymap.New(preset, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		for key, action := range want {
			if got := m.Action(keymap.Prompt, key); got != action {
				t.Errorf("%s: %s is %q, want %q", preset, key, got, action)
			}
		}
	}
}

func TestOwnKeysReplacePreset(t *testing.T) {
	m, err := keymap.New("claude", true, map[string][]string{
		keymap.Copy: {"Ctrl-T", "f2"}, keymap.Redraw: {}, keymap.AllowSession: {"n"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Action(keymap.Prompt, "ctrl+t"); got != keymap.Copy || len(m.Keys(keymap.Plan)) != 0 {
		t.Errorf("Ctrl-T is %q, and the plan has %v", got, m.Keys(keymap.Plan))
	}
	if got := m.Action(keymap.Prompt, "ctrl+l"); got != "" {
		t.Errorf("Ctrl-L is %q", got)
	}
	if got := m.Action(keymap.Answer, "n"); got != keymap.AllowSession || len(m.Keys(keymap.Deny)) != 0 {
		t.Errorf("n is %q, and to deny has %v", got, m.Keys(keymap.Deny))
	}
	if got := m.Keys(keymap.Cancel); !slices.Equal(got, []string{"ctrl+c"}) {
		t.Errorf("cancel has %v", got)
	}
	if got, want := m.String(), "claude, vi keys, allow_session=n, copy=ctrl+t f2, redraw=none"; got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
	if got := m.Label(keymap.Copy, ""); got != "Ctrl-T" {
		t.Errorf("the label is %q", got)
	}
}

func TestMistakesNameAction(t *testing.T) {
	for _, c := range []struct {
		preset       string
		own          map[string][]string
		action, want string
	}{
		{"vim", nil, "preset", `"vim" is not one of default, vi, claude, codex`},
		{"default", map[string][]string{"transcrip": {"f2"}}, "transcrip", "unknown action"},
		{"default", map[string][]string{"copy": {"x"}}, "copy", `"x" types text: add ctrl or alt`},
		{"default", map[string][]string{"copy": {"ctrl+c"}}, "copy", `ctrl+c always is the key of "cancel"`},
		{"default", map[string][]string{"copy": {"f2"}, "model": {"F2"}}, "model", `"F2" is also the key of "copy"`},
		{"default", map[string][]string{"deny": {"enter"}}, "deny", "another meaning while a question waits"},
		{"default", map[string][]string{"send": {}}, "send", "no key sends"},
		{"default", map[string][]string{"copy": {"ctrl+x ctrl+e"}}, "copy", "several keys"},
	} {
		_, err := keymap.New(c.preset, false, c.own)
		wrong, ok := errors.AsType[*keymap.Error](err)
		if !ok || wrong.Action != c.action || !strings.Contains(wrong.Message, c.want) {
			t.Errorf("%v: %v (%+v), want %s: %s", c.own, err, wrong, c.action, c.want)
		}
	}
}

func TestZeroMapHasDefaultKeys(t *testing.T) {
	var m keymap.Map
	if got := m.Action(keymap.Prompt, "ctrl+t"); got != keymap.Transcript || m.String() != "default" {
		t.Errorf("Ctrl-T is %q in %q", got, m)
	}
}
