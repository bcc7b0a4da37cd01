package skills

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// hole is a placeholder for arguments: $ARGUMENTS, $ARGUMENTS[0], $1 and, if the arguments
// contain NAME=value, $NAME. Two dollars are a literal dollar.
var hole = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$(?:\$|ARGUMENTS\[(\d{1,2})\]|(ARGUMENTS)\b|([0-9])\b|([A-Z][A-Z0-9_]*)\b)`)
})

// Fill replaces the placeholders of a text: $ARGUMENTS by all arguments, $1 to $9 by one
// word each. If the text contains $0 or $ARGUMENTS[0], words count from 0, as in Claude
// Code's skills. Words can be quoted. ok is false if the text has no placeholders.
func Fill(text, arguments string) (filled string, ok bool) {
	arguments = strings.TrimSpace(arguments)
	words := Words(arguments)
	named := map[string]string{}
	for _, w := range words {
		if name, value, is := strings.Cut(w.Text, "="); is {
			named[name] = value
		}
	}
	first := 1
	if strings.Contains(text, "$0") || strings.Contains(text, "$ARGUMENTS[") {
		first = 0
	}
	word := func(digits string, first int) string {
		if n, err := strconv.Atoi(digits); err == nil && n >= first && n-first < len(words) {
			return words[n-first].Text
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

// replace replaces each placeholder once; the inserted text is not expanded.
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

// HasPlaces reports whether a text has placeholders for arguments.
func HasPlaces(text string) bool {
	_, ok := Fill(text, "")
	return ok
}

// Word is one word of the arguments.
type Word struct {
	Text     string // without quotes
	From, To int    // its range of bytes in the arguments, with quotes
}

// Words splits arguments at spaces outside quotes.
func Words(arguments string) (out []Word) {
	var word strings.Builder
	var quote rune
	from := -1 // start of the word; -1 between words
	end := func(at int) {
		if from >= 0 {
			out = append(out, Word{word.String(), from, at})
		}
		word.Reset()
		from = -1
	}
	for at, r := range arguments {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\'') && (from < 0 || strings.HasSuffix(word.String(), "=")):
			quote = r
			if from < 0 {
				from = at
			}
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			end(at)
		default:
			word.WriteRune(r)
			if from < 0 {
				from = at
			}
		}
	}
	end(len(arguments))
	return out
}

// Raw returns words as written in the arguments, with their quotes and the text between
// adjacent words.
func Raw(arguments string, words []Word) string {
	var b strings.Builder
	for n, w := range words {
		if n > 0 {
			between := arguments[words[n-1].To:w.From]
			if strings.TrimSpace(between) != "" { // another word was removed between them
				between = " "
			}
			b.WriteString(between)
		}
		b.WriteString(arguments[w.From:w.To])
	}
	return b.String()
}
