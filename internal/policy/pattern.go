package policy

import (
	"path"
	"strings"
)

// A pattern for commands is words. A "*" alone stands for any number of words,
// at the end for none too; within a word it stands for any characters; at the
// end of the last word it also stands for all words that follow.

// allowsWords reports whether a command is surely what the pattern says.
func allowsWords(pattern []string, d deed) bool {
	list := make([]word, 0, len(d.sets)+len(d.words))
	for _, text := range d.sets {
		list = append(list, literal(text))
	}
	list = append(list, d.words...)
	if at := len(d.sets); at < len(list) {
		list[at].text = systemName(list[at].text)
	}
	return allowed(pattern, list)
}

func allowed(pattern []string, words []word) bool {
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
	if len(words) == 0 || !words[0].definite() || !fits(pattern[0], words[0].text) {
		return false
	}
	if last && strings.HasSuffix(pattern[0], "*") {
		return true
	}
	return allowed(pattern[1:], words[1:])
}

// systemName is the name alone of a program where the system keeps them.
func systemName(name string) string {
	for _, dir := range []string{"/bin/", "/usr/bin/"} {
		if base, ok := strings.CutPrefix(name, dir); ok && base != "" && !strings.Contains(base, "/") {
			return base
		}
	}
	return name
}

// forbidsWords reports whether a command is, or may be, what the pattern says
// or begins with that. Options may stand between the words of the pattern:
// "git push" is also "git -C dir push".
func forbidsWords(pattern []string, words []word) match {
	if len(words) == 0 || len(pattern) == 0 {
		return no
	}
	if !words[0].definite() {
		return maybe
	}
	if pattern[0] == "*" {
		return forbidden(pattern, words)
	}
	name := strings.ToLower(pattern[0])
	if base := baseName(name); !strings.Contains(base, "*") && base == baseName(words[0].text) ||
		fits(name, strings.ToLower(words[0].text)) || fits(name, baseName(words[0].text)) {
		return forbidden(pattern[1:], words[1:])
	}
	return no
}

// baseName is the name of a program without its directory, and without case,
// which for many file systems does not count.
func baseName(name string) string {
	return strings.TrimSuffix(path.Base(strings.ToLower(slashed(name))), ".exe")
}

// forbidden fills a table from the end: what is left of the pattern against
// what is left of the words.
func forbidden(pattern []string, words []word) match {
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
func step(pattern string, words []word, row, below []match) match {
	if pattern == "*" {
		return max(row[1], below[0])
	}
	if !words[0].definite() {
		return maybe // what is wanted, several words, or none
	}
	var best match
	if fits(strings.ToLower(pattern), strings.ToLower(words[0].text)) {
		best = below[1]
	}
	if strings.HasPrefix(words[0].text, "-") {
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
