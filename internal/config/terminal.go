package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/terminal/keymap"
)

// Terminal configures settle's terminal frontend.
type Terminal struct {
	Theme  string // auto, default, light, dark or none
	Notify string // bell, osc9, osc777 or off
	Keys   keymap.Map
	Links  string // auto, on or off
	Host   string // HostInside or HostOwn
	// StatusLine is the template of the status row; empty for settle's own.
	StatusLine string
	// StatusCommand is a command whose output is shown in the status row; empty for none.
	StatusCommand []string
}

// The processes that host the terminal's sessions.
const (
	// HostInside is the terminal's own process.
	HostInside = "inside"
	// HostOwn is a process for each session, from which the terminal can detach.
	HostOwn = "own"
)

// terminalKeys is [terminal.keys]: a preset as text, or a table with the preset, vi keys and the keys of
// actions.
func terminalKeys(key string) *setting {
	return &setting{
		key: key,
		set: func(s *Settings, value any) error {
			m, err := asKeymap(value)
			if err == nil {
				s.Terminal.Keys = m
			}
			return err
		},
		get: func(s *Settings) any { return s.Terminal.Keys.String() },
	}
}

func asKeymap(value any) (keymap.Map, error) {
	if preset, ok := value.(string); ok {
		return keymap.New(preset, false, nil)
	}
	table, ok := value.(map[string]any)
	if !ok {
		return keymap.Map{}, fmt.Errorf("must be a table or the name of a preset, not %s", described(value))
	}
	preset, vi, own := keymap.Presets()[0], false, map[string][]string{}
	var errs []error
	for name, value := range table {
		var err error
		switch name {
		case "preset":
			preset, err = asText(value)
		case "vi":
			var on *bool
			if on, err = asSwitch(value); err == nil {
				vi = *on
			}
		default:
			if text, ok := value.(string); ok {
				value = []any{text}
			}
			own[name], err = asNames(value)
		}
		if err != nil {
			errs = append(errs, &keymap.Error{Action: name, Message: err.Error()})
		}
	}
	m, err := keymap.New(preset, vi, own)
	return m, errors.Join(errors.Join(errs...), err)
}

// keyFailure reports a mistake in the keys of an action where the action is.
func (t *table) keyFailure(key string, wrong *keymap.Error) {
	path := slices.Concat(t.path, []string{key})
	if wrong.Action != "" {
		path = append(path, wrong.Action)
	}
	known := wrong.Known
	if wrong.Action == wrong.Word {
		known = append([]string{"preset", "vi"}, known...)
	}
	message := wrong.Message
	if wrong.Word != "" {
		message += DidYouMean(wrong.Word, known)
	}
	*t.errs = append(*t.errs, &Error{Where: t.doc.where(path...), Key: strings.Join(path, "."), Message: message})
}

// StatusFields are the names that a template of the status row can have in braces.
func StatusFields() []string {
	return []string{
		"activity", "host", "model", "effort", "permission", "commands", "context", "tokens", "cost", "jobs",
		"directory", "session", "version",
	}
}

// statusLine is a template, such as "{model} · {directory}".
func statusLine(key string) *setting {
	k := text(key, func(s *Settings) *string { return &s.Terminal.StatusLine })
	set := k.set
	k.set = func(s *Settings, value any) error {
		if err := set(s, value); err != nil {
			return err
		}
		_, err := SplitTemplate(s.Terminal.StatusLine)
		return err
	}
	return k
}

// TemplatePart is literal text of a template, or the name of a field.
type TemplatePart struct{ Text, Field string }

// SplitTemplate returns the parts of a template of the status row. Two braces are one brace of text.
func SplitTemplate(template string) (parts []TemplatePart, err error) {
	text := ""
	for rest := template; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			text, rest = text+rest[:1], rest[2:]
			continue
		case rest[0] == '}':
			return nil, fmt.Errorf("%q has a closing brace without an opening one; }} is a brace", template)
		case rest[0] != '{':
			next := strings.IndexAny(rest, "{}")
			if next < 0 {
				next = len(rest)
			}
			text, rest = text+rest[:next], rest[next:]
			continue
		}
		name, after, closed := strings.Cut(rest[1:], "}")
		if !closed {
			return nil, fmt.Errorf("%q has an opening brace without a closing one; {{ is a brace", template)
		}
		if !slices.Contains(StatusFields(), name) {
			return nil, fmt.Errorf("has no field {%s}%s", name, DidYouMean(name, StatusFields()))
		}
		parts = append(parts, TemplatePart{Text: text}, TemplatePart{Field: name})
		text, rest = "", after
	}
	return append(parts, TemplatePart{Text: text}), nil
}
