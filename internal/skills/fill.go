package skills

import (
	"strconv"
	"strings"

	"github.com/settle-agent/settle/internal/lazy"
)

// hole is a place for arguments: $ARGUMENTS, $ARGUMENTS[0], $1 and, where the
// arguments have NAME=value, $NAME. Two dollars are one.
var hole = lazy.Regexp(`\$(?:\$|ARGUMENTS\[(\d{1,2})\]|(ARGUMENTS)\b|([0-9])\b|([A-Z][A-Z0-9_]*)\b)`)

// Fill puts arguments into the places that a text has for them: all of them for
// $ARGUMENTS, one word for each of $1 to $9. Where $0 or $ARGUMENTS[0] stands, words
// are counted from 0, as Claude Code's skills do. Words may be quoted. ok is false
// if the text has no places.
func Fill(text, arguments string) (filled string, ok bool) {
	arguments = strings.TrimSpace(arguments)
	words := Words(arguments)
	named := map[string]string{}
	for _, w := range words {
		if name, value, is := strings.Cut(w, "="); is {
			named[name] = value
		}
	}
	first := 1
	if strings.Contains(text, "$0") || strings.Contains(text, "$ARGUMENTS[") {
		first = 0
	}
	word := func(digits string, first int) string {
		if n, err := strconv.Atoi(digits); err == nil && n >= first && n-first < len(words) {
			return words[n-first]
		}
		return ""
	}
	filled = replace(text, func(m []string) string {
		if m[0] == "$$" {
			return "$"
		}
		value, is := named[m[4]]
		switch {
		case m[1] != "":
			value = word(m[1], 0)
		case m[2] != "":
			value = arguments
		case m[3] != "":
			value = word(m[3], first)
		case !is:
			return m[0]
		}
		ok = true
		return value
	})
	if !ok {
		return text, false
	}
	return filled, true
}

// replace replaces each hole in a text, which has no say about what is put in.
func replace(text string, with func(m []string) string) string {
	var b strings.Builder
	at := 0
	for _, found := range hole().FindAllStringSubmatchIndex(text, -1) {
		m := make([]string, len(found)/2)
		for n := range m {
			if from := found[2*n]; from >= 0 {
				m[n] = text[from:found[2*n+1]]
			}
		}
		b.WriteString(text[at:found[0]] + with(m))
		at = found[1]
	}
	return b.String() + text[at:]
}

// HasPlaces reports whether a text has places for arguments.
func HasPlaces(text string) bool {
	_, ok := Fill(text, "")
	return ok
}

// Words parts arguments at spaces, but for those in quotes.
func Words(arguments string) (out []string) {
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range arguments {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\'') && (!open || strings.HasSuffix(word.String(), "=")):
			quote, open = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if open {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		out = append(out, word.String())
	}
	return out
}
