package keymap

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// modifiers returns the modifiers in the order of a key's name, each with the ways to write it.
func modifiers() [][]string {
	return [][]string{
		{"ctrl", "control"}, {"alt", "meta", "option", "opt"}, {"shift"}, {"super", "cmd", "command", "win"},
	}
}

// keyNames are the keys that type nothing, and the space.
func keyNames() []string {
	names := []string{
		"enter", "tab", "esc", "space", "backspace", "delete", "insert", "up", "down", "left", "right",
		"home", "end", "pgup", "pgdown",
	}
	for n := range maxFunctionKey {
		names = append(names, "f"+strconv.Itoa(n+1))
	}
	return names
}

// otherName returns the name of a key for another way to write it.
func otherName(key string) string {
	switch key {
	case "escape":
		return "esc"
	case "return":
		return "enter"
	case "page-up", "page_up", "pageup":
		return "pgup"
	case "page-down", "page_down", "pagedown", "pgdn":
		return "pgdown"
	case "del":
		return "delete"
	case "ins":
		return "insert"
	case "spacebar":
		return "space"
	}
	return key
}

// Parse returns the name of a key that a person has written: modifiers and a key, with + or -
// between them, in small or capital letters, such as "Ctrl-T", "alt+up", "shift+tab" and "f5".
func Parse(text string) (string, error) {
	rest := strings.ToLower(strings.TrimSpace(text))
	if len(strings.Fields(rest)) > 1 {
		return "", fmt.Errorf("%q has several keys: an action has single keys, each with its modifiers", text)
	}
	all := modifiers()
	held := make([]bool, len(all))
	for cut := true; cut; {
		cut = false
		for n, words := range all {
			for _, word := range words {
				after, ok := strings.CutPrefix(rest, word)
				if ok && len(after) > 1 && strings.IndexByte(configSeparators, after[0]) >= 0 {
					held[n], rest, cut = true, after[1:], true
				}
			}
		}
	}
	key := otherName(rest)
	if r, size := utf8.DecodeRuneInString(key); !slices.Contains(keyNames(), key) &&
		(size != len(key) || size == 0 || !unicode.IsPrint(r)) {
		return "", &Error{Word: rest, Known: keyNames(), Message: fmt.Sprintf(
			"%q is no key: write it like \"ctrl+t\", \"alt+up\" or \"f5\"", text)}
	}
	name := ""
	for n, words := range all {
		if held[n] {
			name += words[0] + keySeparator
		}
	}
	return name + key, twin(name + key)
}

// twin returns an error for a key that most terminals cannot tell from another one.
func twin(key string) error {
	for _, pair := range [][2]string{{"ctrl+i", "tab"}, {"ctrl+m", "enter"}, {"ctrl+[", "esc"}} {
		if key == pair[0] {
			return fmt.Errorf("most terminals send %s for %s: use another key", pair[1], pair[0])
		}
	}
	return nil
}

// types reports whether a key types a character.
func types(key string) bool {
	key = strings.TrimPrefix(key, "shift+")
	return utf8.RuneCountInString(key) == 1 || key == "space"
}

// Label returns a key as people read it: "Ctrl-T", "Alt-↑".
func Label(key string) string {
	head := ""
	for _, words := range modifiers() {
		if rest, ok := strings.CutPrefix(key, words[0]+keySeparator); ok {
			head += strings.ToUpper(words[0][:1]) + words[0][1:] + "-"
			key = rest
		}
	}
	switch key {
	case "up":
		key = "↑"
	case "down":
		key = "↓"
	case "left":
		key = "←"
	case "right":
		key = "→"
	case "pgup":
		key = "PgUp"
	case "pgdown":
		key = "PgDn"
	default:
		if head != "" || utf8.RuneCountInString(key) > 1 {
			r, size := utf8.DecodeRuneInString(key)
			key = string(unicode.ToUpper(r)) + key[size:]
		}
	}
	return head + key
}
