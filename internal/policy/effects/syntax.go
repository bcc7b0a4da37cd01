package effects

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// The syntax that every shell reads in the same way. Only wildcards expand: "~" does not
// begin a home directory, and in double quotes "$" ends the text or precedes a character
// that begins no name.
const (
	blank    = `[ \t](?:\\\n)?`
	blanks   = `(?:` + blank + `)*`
	comment  = `(?m:#[^\\\n]*$)`
	space    = `(?:` + blank + `|\n|` + comment + `)*`
	quoted   = `'[^']*'|"(?:[^"\\$` + "`" + `]|\\[^\n]|\$[ |)/])*\$?"|\\[^A-Za-z0-9_\x00- \x7f-\x{10ffff}]`
	bare     = `[A-Za-z0-9_^]~+|[A-Za-z0-9_./,:@%+=^-]`
	literal  = `(?:` + bare + `|` + quoted + `)+`
	word     = `(?:` + bare + `|` + quoted + `|[*?])+|[][!]` // "[" and "!" are commands, or operands of some commands
	redirect = `[12]?>&[12]|(?:0?<|[12]?>>?)` + blanks + literal
	simple   = `(?:` + redirect + `|` + word + `)(?:` + blank + blanks + `(?:` + redirect + `|` + word + `))*`
	control  = `;|&&|\|\|?|\n`
	tail     = `(?:` + blank + blanks + comment + `|` + blanks + `)` // of a line
	next     = `(?:` + tail + `\n|` + blanks + `(?:` + control + `))` + space
	script   = `^` + space + `(?:` + simple + `(?:` + next + simple + `)*` + tail + `(?:[;\n]` + space + `)?)?$`

	// The parts of a script; a command from its beginning; a word.
	commandOrControl = blank + `|` + comment + `|(` + simple + `)|(` + control + `)`
	redirectOrWord   = blank + `|[12]?>&[12]|(0?<|[12]?>>?)` + blanks + `(` + literal + `)|(` + word + `)`
	pieces           = `'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|[^'"\\]+`
)

var (
	plain        = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(script) })
	splitScript  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(commandOrControl) })
	splitCommand = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(redirectOrWord) })
	splitWord    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pieces) })
)

const maxText = 16 << 10

// strange returns the reason why shells can read a text differently from each other, or
// from its appearance.
func strange(text string) string {
	switch {
	case len(text) > maxText:
		return "it is too long"
	case !utf8.ValidString(text):
		return "it is not text"
	case strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && c != '\t' && !unicode.IsPrint(c) }):
		return "it has characters that cannot be seen"
	case strings.Contains(text, `\`) && strings.ContainsFunc(text, func(c rune) bool { return c >= utf8.RuneSelf }):
		return "what is quoted in it depends on the locale"
	case !plain().MatchString(text):
		return "it is more than simple commands with |, &&, || and ;"
	}
	return ""
}

// unquote removes the quotes of a word; ok is false if the word also has wildcards.
func unquote(text string) (w Word, ok bool) {
	for _, m := range splitWord().FindAllStringSubmatch(text, -1) {
		switch m[0][0] {
		case '"':
			w.Text += strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, "$", "\\`", "`").Replace(m[2])
		case '\'', '\\':
			w.Text += m[1] + m[3]
		default:
			w.Text += m[0]
			w.Glob = w.Glob || strings.ContainsAny(m[0], "*?")
		}
	}
	return w, !w.Glob || w.Text == text
}
