package effects

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word takes the quotes of a word away.
func (r *reader) word(n *syntax.Word) Word {
	w := Word{}
	var quoted strings.Builder
	if n == nil {
		return w
	}
	for _, part := range n.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			r.literal(&w, part.Value)
		case *syntax.SglQuoted:
			if part.Dollar {
				r.refuse("shells differ in how they read $'…'")
			}
			w.Text += part.Value
			quoted.WriteString(part.Value)
		case *syntax.DblQuoted:
			text := r.double(part)
			w.Text += text
			quoted.WriteString(text)
		default:
			r.refuse("it has words that are only known when it runs")
		}
	}
	if w.Glob && strings.ContainsAny(quoted.String(), `*?[\`) {
		r.refuse("a word has wildcards and quotes")
	}
	return w
}

// unquoted are the characters that mean themselves to every shell.
const unquoted = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:@%+=^-"

// literal reads text that is not quoted.
func (r *reader) literal(w *Word, text string) {
	if alone := w.Text == "" && (text == "[" || text == "]" || text == "!"); alone {
		w.Text = text
		return
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		before := byte('=')
		if w.Text != "" {
			before = w.Text[len(w.Text)-1]
		}
		switch {
		case c == '\\' && i+1 < len(text) && text[i+1] > ' ' && text[i+1] < 0x7f && !strings.ContainsRune(unquoted[:63], rune(text[i+1])):
			i++
			c = text[i]
			if strings.IndexByte(`*?[\`, c) >= 0 && strings.ContainsAny(text, "*?") {
				r.refuse("a word has wildcards and quotes")
			}
		case c == '*' || c == '?':
			w.Glob = true
		case c == '~' && before != '=' && before != ':', c == '#' && w.Text != "":
		case strings.IndexByte(unquoted, c) < 0:
			r.refuse("a word has " + string(rune(c)) + " without quotes")
			return
		}
		w.Text += string(rune(c))
	}
}

// double reads text in double quotes in which nothing is expanded.
func (r *reader) double(n *syntax.DblQuoted) string {
	var b strings.Builder
	for _, part := range n.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || n.Dollar {
			r.refuse("it has words that are only known when it runs")
			return ""
		}
		text := lit.Value
		for i := 0; i < len(text); i++ {
			if text[i] >= 0x80 && strings.Contains(text, `\`) {
				r.refuse("a text in double quotes depends on the locale")
			}
			switch last := i+1 == len(text); {
			case text[i] == '\\' && !last && strings.IndexByte("\\\"$`", text[i+1]) >= 0:
				i++
			case text[i] == '$' && !last && strings.IndexByte(" |)/", text[i+1]) < 0:
				r.refuse("a text in double quotes has a $")
			}
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
