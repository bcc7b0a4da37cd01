package policy_test

import (
	"math/rand/v2"
	"strings"
)

// generator draws commands: commands of the corpus, changed and joined by shell grammar.
type generator struct {
	random *rand.Rand
	corpus []string
}

func (g generator) pick(from ...string) string { return from[g.random.IntN(len(from))] }

// command returns one simple command or several.
func (g generator) command() string {
	text := g.simple()
	for g.random.IntN(4) == 0 {
		text += g.pick(" && ", " | ", " || ", "; ", "\n", " |", "&&", " ; ", " & ", " |& ") + g.simple()
	}
	if g.random.IntN(12) == 0 {
		text = g.pick("cd sub && ", "cd sub; ", "cd in && ", "cd sub/up && ", "cd bare && ", "cd nested && ", "cd sub || ", "cd sub/deep && cd .. && ", "cd bin && ", "cd mod && ") + text
	}
	return text
}

func (g generator) simple() string {
	text := g.pick(g.corpus...)
	for g.random.IntN(3) > 0 {
		text = g.mutate(text)
	}
	return text
}

func (g generator) mutate(text string) string {
	words := strings.Fields(text)
	if len(words) == 0 {
		return text
	}
	at := g.random.IntN(len(words))
	other := strings.Fields(g.pick(g.corpus...))
	switch g.random.IntN(9) {
	case 0: // another word
		if len(other) > 0 {
			words[at] = g.pick(other...)
		}
	case 1: // one more word
		if len(other) > 0 {
			words = append(words, g.pick(other...))
		}
	case 2: // a hostile name
		words = append(words, g.name())
	case 3:
		words[at] = g.name()
	case 4:
		words[at] = g.quoted(words[at])
	case 5:
		words = append(words, g.pick("2>&1", "2>/dev/null", "> /dev/null", ">/dev/null", "< a.txt", "<a.txt", "2> /dev/null", "1>&2", "> pwned", ">&2", "2>&-", "&>/dev/null", ">/dev/nul", "#", "# x", "\\"))
	case 6: // one word less
		words = append(words[:at:at], words[at+1:]...)
	case 7: // the end of one command, the beginning of another
		if len(other) > 1 {
			words = append(words[:at:at], other[g.random.IntN(len(other)):]...)
		}
	default:
		i := g.random.IntN(len(text) + 1)
		return text[:i] + g.pick("*", "?", "[", "]", "{", "}", "'", "\"", "\\", "$", "`", ";", "|", "&", "<", ">", "(", ")", "~", "#", "!", "=", "-", "/", "..", "\n", "\t", " ", "%", "^", ":", "@", ",", "--", "é", "\\\n", "$(", "\r", "\v") + text[i:]
	}
	return strings.Join(words, " ")
}

func (g generator) name() string {
	return g.pick("a.txt", "b.txt", "*.txt", "*", "./*", "sub/*", "s*", "?.txt", ".env", "leak", "stolen.txt", "out", "in", "sub", "sub/up", "sub/l", "bare", "nested",
		"id_rsa", "certs", "certs/*", ".*", ".e*", "-n", "-rf", "-o", "-delete", "--pre=evil", "--output=pwned", "../outside", "../outside/secret.txt", ".", "..",
		"~", "/etc/passwd", "$SECRET", "HEAD", "HEAD:a.txt", "HEAD:.env", "v1", ":a.txt", "--", "-", "w pwned", "'w pwned'", "package.json", "pwned", "0", "bin/*",
		"main.go", ".gitattributes", ".git/config", "nested/.git/config", "mod", "README.md", "sub/c.txt", "sub/deep/x.go", "in/deep/x.go", "sub/up/leak", "Makefile")
}

func (g generator) quoted(word string) string {
	i := g.random.IntN(len(word) + 1)
	return g.pick("'"+word+"'", `"`+word+`"`, `\`+word, word[:i]+`""`+word[i:], word[:i]+`\`+word[i:], word[:i]+"'"+word[i:]+"'", "$'"+word+"'", `$"`+word+`"`, word[:i]+"\\\n"+word[i:])
}
