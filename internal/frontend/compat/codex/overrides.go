package codex

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// overrides are the values of -c key=value. settle takes the keys that it knows; the rest
// is unknown.
type overrides map[string]any

// parseOverrides reads them as that agent does: the value is TOML, or else a text;
// a dotted key names a value within tables.
func parseOverrides(list []string) (overrides, error) {
	all := overrides{}
	for _, one := range list {
		key, text, ok := strings.Cut(one, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" {
			return nil, fmt.Errorf("cannot use the override %q: it is not key=value", one)
		}
		text = strings.TrimSpace(text)
		var doc struct{ Value any }
		if err := toml.Unmarshal([]byte("Value = "+text), &doc); err != nil {
			doc.Value = strings.Trim(text, `"'`)
		}
		all.set(splitKey(key), doc.Value)
	}
	return all, nil
}

// splitKey parts a dotted key, in which names may be quoted.
func splitKey(key string) []string {
	var path []string
	var name strings.Builder
	var quote rune
	for _, c := range key {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && c == '.':
			path = append(path, name.String())
			name.Reset()
		default:
			name.WriteRune(c)
		}
	}
	return append(path, name.String())
}

func (o overrides) set(path []string, value any) {
	table := map[string]any(o)
	for _, name := range path[:len(path)-1] {
		inner, ok := table[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			table[name] = inner
		}
		table = inner
	}
	last := path[len(path)-1]
	old, isTable := table[last].(map[string]any)
	if more, ok := value.(map[string]any); ok && isTable {
		maps.Copy(old, more)
		return
	}
	table[last] = value
}

// take removes a value and returns it.
func (o overrides) take(key string) any {
	value := o[key]
	delete(o, key)
	return value
}

// text takes a value that is a text; another one is left.
func (o overrides) text(key string) string {
	text, ok := o[key].(string)
	if !ok {
		return ""
	}
	delete(o, key)
	return text
}

// number takes a value that is a whole number.
func (o overrides) number(key string) (n int64, ok bool) {
	if n, ok = o[key].(int64); ok {
		delete(o, key)
	}
	return n, ok
}

// table takes a table; its remaining keys are unknown.
func (o overrides) table(key string) overrides {
	inner, _ := o[key].(map[string]any)
	return inner
}

// rest returns the unknown keys, with the first two names of each.
func (o overrides) rest() []string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(o)) {
		inner, ok := o[key].(map[string]any)
		if !ok {
			list = append(list, "-c "+key)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(inner)) {
			if part, ok := inner[name].(map[string]any); ok && len(part) == 0 {
				continue
			}
			list = append(list, "-c "+key+"."+name)
		}
	}
	return list
}
