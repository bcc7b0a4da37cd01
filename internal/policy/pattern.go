package policy

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/settle-agent/settle/internal/policy/effects"
)

// A pattern for commands is words. A "*" alone stands for any number of words,
// at the end for none too; within a word it stands for any characters; at the
// end of the last word it also stands for all words that follow.

// allowsWords reports whether a command is surely what the pattern says.
func allowsWords(pattern []string, words []effects.Word) bool {
	if len(words) == 0 {
		return false
	}
	words = slices.Clone(words)
	words[0].Text = systemName(words[0].Text)
	return allowed(pattern, words)
}

func allowed(pattern []string, words []effects.Word) bool {
	if len(pattern) == 0 {
		return len(words) == 0
	}
	last := len(pattern) == 1
	if pattern[0] == "*" {
		for skip := 0; !last && skip <= len(words); skip++ {
			if allowed(pattern[1:], words[skip:]) {
				return true
			}
		}
		return last
	}
	if len(words) == 0 || indefinite(words[0]) || !fits(pattern[0], words[0].Text) {
		return false
	}
	if last && strings.HasSuffix(pattern[0], "*") {
		return true
	}
	return allowed(pattern[1:], words[1:])
}

func indefinite(w effects.Word) bool { return w.Glob || w.Unknown }

// systemName is the name alone of a program where the system keeps them.
func systemName(name string) string {
	for _, dir := range []string{"/bin/", "/usr/bin/"} {
		if base, ok := strings.CutPrefix(name, dir); ok && base != "" && !strings.Contains(base, "/") {
			return base
		}
	}
	return name
}

// forbidsWords reports whether a command is what the pattern says or begins
// with that, or may start what does. Options may stand between the words of
// the pattern: "git push" is also "git -C dir push". Of commands in the table
// it is known that they start nothing.
func forbidsWords(pattern []string, words []effects.Word, known bool) match {
	best := begins(pattern, words)
	if best != no || known {
		return best
	}
	if pattern[0] == "*" {
		return no
	}
	name := baseName(pattern[0])
	for i, w := range words {
		if i > 0 && (begins(pattern, words[i:]) != no || disguises(pattern, name, w.Text)) || startsOther(words[i:]) {
			return maybe
		}
	}
	return no
}

// disguises reports whether a word may be a script or a setting that comes to
// what the pattern says: "git -c alias.p=push p".
func disguises(pattern []string, name, text string) bool {
	text = strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(text) // as a shell within it does
	if strings.ContainsAny(text, "$`") || mentions(text, name) {
		return true
	}
	_, value, ok := strings.Cut(text, "=")
	return ok && len(pattern) > 1 && pattern[1] != "*" && mentions(value, strings.ToLower(pattern[1]))
}

func begins(pattern []string, words []effects.Word) match {
	if indefinite(words[0]) {
		return maybe
	}
	if pattern[0] == "*" {
		return forbidden(pattern, words)
	}
	name, text := strings.ToLower(pattern[0]), strings.ToLower(words[0].Text)
	if base := baseName(name); !strings.Contains(base, "*") && base == baseName(text) || fits(name, text) || fits(name, baseName(text)) {
		return forbidden(pattern[1:], words[1:])
	}
	return no
}

// mentions reports whether a word of a command, which may be a script or a
// path, has the name in it.
func mentions(text, name string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	}), func(token string) bool { return fits(name, token) || fits(name, strings.Trim(token, "-.")) })
}

// startsOther reports whether a command runs a script that is in its words or
// comes from its input: what that is, is not looked at.
func startsOther(words []effects.Word) bool {
	name := strings.TrimRight(baseName(words[0].Text), "0123456789.")
	switch {
	case slices.Contains(strings.Fields("eval source trap alias awk gawk mawk nawk ed ex vi vim nvim emacs gdb lldb m4 osascript xargs parallel enable"), name), words[0].Text == ".":
		return true
	case slices.Contains(strings.Fields("sh bash dash ash ksh mksh rbash zsh fish csh tcsh pwsh python perl ruby node php lua tclsh expect deno bun"), name):
		return len(words) == 1 || indefinite(words[1]) || strings.ContainsAny(words[1].Text[:min(1, len(words[1].Text))], "-+") ||
			strings.HasPrefix(words[1].Text, "/dev/") || strings.HasPrefix(words[1].Text, "/proc/")
	}
	return name == "env" && len(words) > 1 && strings.HasPrefix(words[1].Text, "-")
}

// baseName is the name of a program without its directory, and without case,
// which for many file systems does not count.
func baseName(name string) string {
	return strings.TrimSuffix(path.Base(strings.ToLower(slashed(name))), ".exe")
}

// forbidden fills a table from the end: what is left of the pattern against
// what is left of the words.
func forbidden(pattern []string, words []effects.Word) match {
	below := make([]match, len(words)+1)
	for i := range below {
		below[i] = yes // nothing is left of the pattern: a prefix is enough
	}
	for p := len(pattern) - 1; p >= 0; p-- {
		row := make([]match, len(words)+1)
		if pattern[p] == "*" {
			row[len(words)] = below[len(words)]
		}
		for w := len(words) - 1; w >= 0; w-- {
			row[w] = step(pattern[p], words[w:], row[w:], below[w:])
		}
		below = row
	}
	return below[0]
}

// step is one cell: row are the results for the same word of the pattern from
// here on, below those for the next one.
func step(pattern string, words []effects.Word, row, below []match) match {
	if pattern == "*" {
		return max(row[1], below[0])
	}
	if indefinite(words[0]) {
		return maybe // what is wanted, several words, or none
	}
	var best match
	if fits(strings.ToLower(pattern), strings.ToLower(words[0].Text)) {
		best = below[1]
	}
	if strings.HasPrefix(words[0].Text, "-") {
		best = max(best, row[1])
		if len(words) > 1 {
			best = max(best, row[2])
		}
	}
	return best
}

// fits matches a text with a pattern in which "*" is any number of characters.
func fits(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, last)
}
