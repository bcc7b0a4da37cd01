package effects

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// token is a word, or an operator.
type token struct {
	Word
	operator string // empty for a word; ">&" has its descriptors
	from, to int    // in the text
}

// lexer splits a text that every shell splits in the same way.
type lexer struct {
	text string
	at   int
	why  string // it is not one
}

func (l *lexer) refuse(why string) {
	if l.why == "" {
		l.why = why
	}
	l.at = len(l.text)
}

// strange finds text that people and shells may read differently.
func strange(text string) string {
	switch {
	case len(text) > maxText:
		return "it is too long"
	case !utf8.ValidString(text):
		return "it is not text"
	}
	for i, c := range text {
		switch {
		case c == '\\' && strings.HasPrefix(text[i+1:], "\n") && (i == 0 || text[i-1] != ' '):
			return "a word goes on in another line"
		case c != '\n' && c != '\t' && !unicode.IsPrint(c):
			return "it has characters that cannot be seen"
		}
	}
	return ""
}

const (
	controls = ";|&"
	ends     = " \t\n" + controls + "<>" // of a word
)

// redirection is one of a descriptor that exists: to another one, or what
// stands before the name of a file.
var redirection = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([012]?(>>|>|<))[^;|&<>]|^([012]?>&[012])(?:[ \t\n;|&]|$)`)
})

// tokens returns all of them, with "\n" as an operator.
func (l *lexer) tokens() (list []token) {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch c := rest[0]; {
		case c == ' ' || c == '\t':
			l.at++
		case strings.HasPrefix(rest, "\\\n"):
			l.at += 2
		case c == '#':
			comment, _, _ := strings.Cut(rest, "\n")
			if l.at += len(comment); strings.HasSuffix(comment, `\`) { // it may go on in the next line
				l.refuse("a comment ends with a backslash")
			}
		case c == '\n':
			list = append(list, token{operator: "\n"})
			l.at++
		case strings.IndexByte(controls, c) >= 0:
			operator := rest[:len(rest)-len(strings.TrimLeft(rest, controls))]
			if !slices.Contains([]string{";", "|", "&&", "||"}, operator) {
				l.refuse("it uses " + operator)
			}
			list = append(list, token{operator: operator})
			l.at += len(operator)
		case strings.IndexAny(rest, "<>") == len(rest)-len(strings.TrimLeft(rest, "0123456789")):
			m := redirection().FindStringSubmatch(rest)
			if m == nil {
				l.refuse("a redirection is not understood")
				return nil
			}
			list = append(list, token{operator: cmp.Or(m[2], ">&"), from: l.at, to: l.at + len(m[1]+m[3])})
			l.at += len(m[1] + m[3])
		default:
			list = append(list, l.word())
		}
	}
	return list
}

// unquoted are the bytes that mean themselves to every shell, beside letters,
// digits and "_".
const unquoted = "./,:@%+=^-"

func isName(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// word reads a word and takes its quotes away.
func (l *lexer) word() token {
	t, special := token{from: l.at}, false
	add := func(text string) {
		t.Text += text
		special = special || strings.ContainsAny(text, `*?[\`)
	}
	for ; l.at < len(l.text) && strings.IndexByte(ends, l.text[l.at]) < 0; l.at++ {
		rest := l.text[l.at+1:]
		before := byte('=')
		if t.Text != "" {
			before = t.Text[len(t.Text)-1]
		}
		switch c := l.text[l.at]; {
		case c == '\'':
			quoted, _, closed := strings.Cut(rest, "'")
			if add(quoted); !closed {
				l.refuse("a quote is left open")
			}
			l.at += len(quoted) + 1
		case c == '"':
			add(l.double())
		case c == '\\' && rest != "" && rest[0] > ' ' && rest[0] < 0x7f && !isName(rest[0]):
			add(rest[:1])
			l.at++
		case c == '*' || c == '?':
			t.Glob = true
			t.Text += string(c)
		case isName(c), strings.IndexByte(unquoted, c) >= 0, c == '~' && before != '=' && before != ':', c == '#' && t.Text != "",
			strings.IndexByte("[]!", c) >= 0 && t.from == l.at && (rest == "" || strings.IndexByte(ends, rest[0]) >= 0): // alone
			t.Text += string(c)
		default:
			l.refuse("a word has " + string(rune(c)) + " without quotes")
		}
	}
	if t.to = min(l.at, len(l.text)); t.Glob && special {
		l.refuse("a word has wildcards and quotes")
	}
	return t
}

// double reads text in double quotes in which nothing is expanded, up to the
// closing one.
func (l *lexer) double() string {
	var b strings.Builder
	begin := l.at + 1
	for l.at++; l.at < len(l.text); l.at++ {
		following := byte(0)
		if l.at+1 < len(l.text) {
			following = l.text[l.at+1]
		}
		switch c := l.text[l.at]; {
		case c == '"':
			if inner := l.text[begin:l.at]; strings.Contains(inner, `\`) && strings.ContainsFunc(inner, func(r rune) bool { return r >= utf8.RuneSelf }) {
				l.refuse("a text in double quotes depends on the locale")
			}
			return b.String()
		case c == '`', c == '$' && strings.IndexByte(` |)/"`, following) < 0:
			l.refuse("it has words that are only known when it runs")
		case c == '\\' && following == '\n':
			l.refuse("a word goes on in another line")
		case c == '\\' && strings.IndexByte("\\\"$`", following) >= 0:
			l.at++
		}
		if l.at < len(l.text) {
			b.WriteByte(l.text[l.at])
		}
	}
	l.refuse("a quote is left open")
	return ""
}
