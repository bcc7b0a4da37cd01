package effects

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// token is a word, or an operator.
type token struct {
	Word
	operator string // empty for a word
	from, to int    // in the text
}

const (
	maxText = 16 << 10
	ends    = " \t\n;|&<>" // of a word

	notPlain = "its syntax is not plain: %.40q"
)

// syntax is what every shell splits a text into, in the same way: blanks and
// comments, operators, words. In double quotes nothing is expanded, and "~" is
// none of a home directory.
var syntax = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:` +
		`(?P<blank>(?:[ \t]+(?:\\\n)*)+|(?m:#[^\\\n]*$))|` +
		`(?P<operator>[;|&]+|\n|[0-9]*[<>]+(?:&[^` + ends + `]*)?)|` +
		`(?P<word>[][!]|(?:[A-Za-z0-9_^]~+|[A-Za-z0-9_./,:@%+=^*?-]|` + quoted + `)+))`)
})

const quoted = `'[^']*'|"(?:[^"\\$` + "`" + `]|\\[^\n]|\$[ |)/])*\$?"|\\[^A-Za-z0-9_\x00- \x7f-\x{10ffff}]`

// piece is what a word is put together from, with what is quoted in it.
var piece = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|[^'"\\]+`)
})

// split returns the tokens of a text, or says why shells may read it
// differently from each other, or from what people see.
func split(text string) (list []token, why string) {
	switch {
	case len(text) > maxText:
		return nil, "it is too long"
	case !utf8.ValidString(text):
		return nil, "it is not text"
	case strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && c != '\t' && !unicode.IsPrint(c) }):
		return nil, "it has characters that cannot be seen"
	case strings.Contains(text, `\`) && strings.ContainsFunc(text, func(c rune) bool { return c >= utf8.RuneSelf }):
		return nil, "what is quoted in it depends on the locale"
	}
	for at := 0; at < len(text); {
		m := syntax().FindStringSubmatch(text[at:])
		if m == nil {
			return nil, fmt.Sprintf(notPlain, text[at:])
		}
		t := token{operator: m[2], from: at, to: at + len(m[0])}
		if at = t.to; m[3] != "" {
			var plain bool
			if t.Word, plain = unquote(m[3]); !plain || at < len(text) && strings.IndexByte(ends, text[at]) < 0 {
				return nil, fmt.Sprintf(notPlain, text[t.from:])
			}
		}
		if m[1] == "" {
			list = append(list, t)
		}
	}
	return list, ""
}

// unquote takes the quotes of a word away; plain says that it does not have
// wildcards as well.
func unquote(text string) (w Word, plain bool) {
	quotes := false
	for _, m := range piece().FindAllStringSubmatch(text, -1) {
		switch m[0][0] {
		case '"':
			w.Text += strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, "$", "\\`", "`").Replace(m[2])
		case '\'', '\\':
			w.Text += m[1] + m[3]
		default:
			w.Text += m[0]
			w.Glob = w.Glob || strings.ContainsAny(m[0], "*?")
			continue
		}
		quotes = true
	}
	return w, !quotes || !w.Glob
}
