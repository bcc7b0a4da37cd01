package keymap

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Map has the action of each key. The zero value has the default keys. It must not be changed.
type Map struct {
	Preset string // empty for the default
	Vi     bool   // vi keys in the editor
	own    map[string][]string
	table  *table
}

// table combines a preset and the user's keys.
type table struct {
	keys    map[string][]string         // of each action
	actions map[Place]map[string]string // of each key
}

// Error is a mistake in the keys of an action.
type Error struct {
	Action, Message string
	// Word is unknown, and Known are the words that it could be.
	Word  string
	Known []string
}

func (e *Error) Error() string { return e.Message }

// it never changes
var defaults = sync.OnceValue(func() *table { return build("", nil) })

// New returns the keys of a preset, changed by the user's own keys of actions. A key of the user
// loses the action that the preset gives it. The errors are of type [*Error], joined.
func New(preset string, vi bool, own map[string][]string) (Map, error) {
	m := Map{Preset: preset, Vi: vi || preset == viPreset, own: map[string][]string{}}
	var errs []error
	if !slices.Contains(Presets(), preset) {
		errs = append(errs, &Error{
			Action: "preset", Word: preset, Known: Presets(),
			Message: fmt.Sprintf("%q is not one of %s", preset, strings.Join(Presets(), ", ")),
		})
	}
	taken := map[Place]map[string]string{Prompt: {}, Answer: {}}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		action, ok := named(name)
		if !ok {
			errs = append(errs, &Error{Action: name, Word: name, Known: Names(), Message: "unknown action"})
			continue
		}
		m.own[name] = []string{}
		for _, text := range own[name] {
			key, err := parseFor(action, text)
			if owner, twice := taken[action.Place][key]; err == nil && twice {
				err = fmt.Errorf("%q is also the key of %q", text, owner)
			}
			if err != nil {
				wrong, ok := errors.AsType[*Error](err)
				if !ok {
					wrong = &Error{Message: err.Error()}
				}
				wrong.Action = name
				errs = append(errs, wrong)
				continue
			}
			taken[action.Place][key] = name
			m.own[name] = append(m.own[name], key)
		}
	}
	if m.table = build(preset, m.own); len(m.Keys(Send))+len(m.Keys(SendNow)) == 0 && len(errs) == 0 {
		errs = append(errs, &Error{Action: Send, Message: "no key sends: give send or send_now a key"})
	}
	if len(errs) > 0 {
		return Map{}, errors.Join(errs...)
	}
	return m, nil
}

// parseFor returns the name of a key for an action.
func parseFor(a Action, text string) (string, error) {
	key, err := Parse(text)
	switch {
	case err != nil:
		return "", err
	case key == reservedKey && a.Name != Cancel:
		return "", fmt.Errorf("%s always is the key of %q: use another key", key, Cancel)
	case a.Place == Prompt && a.Name != Help && types(key):
		return "", fmt.Errorf("%q types text: add ctrl or alt", text)
	case a.Place == Answer && (strings.HasPrefix(key, "alt+") || len(key) == 1 && key[0] >= '0' && key[0] <= '9' ||
		slices.Contains([]string{"up", "down", "enter", "esc"}, key)):
		return "", fmt.Errorf("%q has another meaning while a question waits: use another key", text)
	}
	return key, nil
}

// build applies the user's keys to the preset.
func build(preset string, own map[string][]string) *table {
	t := &table{keys: map[string][]string{}, actions: map[Place]map[string]string{Prompt: {}, Answer: {}}}
	taken := map[Place]map[string]bool{Prompt: {}, Answer: {}}
	for name, keys := range own {
		action, _ := named(name)
		for _, key := range keys {
			taken[action.Place][key] = true
		}
	}
	changed := changes(preset)
	for _, a := range Actions() {
		keys, mine := own[a.Name]
		if !mine {
			if keys = a.keys; changed != nil {
				if others, ok := changed[a.Name]; ok {
					keys = others
				}
			}
			keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return taken[a.Place][key] })
		}
		if a.Name == Cancel && !slices.Contains(keys, reservedKey) {
			keys = append([]string{reservedKey}, keys...)
		}
		t.keys[a.Name] = keys
		for _, key := range keys {
			t.actions[a.Place][key] = a.Name
		}
	}
	return t
}

func (m Map) of() *table {
	if m.table == nil {
		return defaults()
	}
	return m.table
}

// Action returns the action of a key in a place, empty for none.
func (m Map) Action(place Place, key string) string { return m.of().actions[place][key] }

// Keys returns the names of an action's keys.
func (m Map) Keys(action string) []string { return m.of().keys[action] }

// Label returns the first key of an action as people read it, or the fallback if it has none.
func (m Map) Label(action, fallback string) string {
	if keys := m.Keys(action); len(keys) > 0 {
		return Label(keys[0])
	}
	return fallback
}

// Labels returns the keys of an action as people read them, with commas.
func (m Map) Labels(action string) string {
	var labels []string
	for _, key := range m.Keys(action) {
		labels = append(labels, Label(key))
	}
	return strings.Join(labels, ", ")
}

// Own reports whether the user has set the keys of an action.
func (m Map) Own(action string) bool {
	_, own := m.own[action]
	return own
}

// String returns the keys as a setting: the preset, then the user's own keys.
func (m Map) String() string {
	parts := []string{m.Preset}
	if m.Preset == "" {
		parts[0] = defaultPreset
	}
	if m.Vi && m.Preset != viPreset {
		parts = append(parts, "vi keys")
	}
	for _, name := range slices.Sorted(maps.Keys(m.own)) {
		keys := strings.Join(m.own[name], " ")
		if keys == "" {
			keys = "none"
		}
		parts = append(parts, name+"="+keys)
	}
	return strings.Join(parts, ", ")
}

// Equal reports whether two maps have the same keys.
func (m Map) Equal(o Map) bool { return m.String() == o.String() }
