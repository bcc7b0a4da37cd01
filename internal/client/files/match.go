package files

import (
	"cmp"
	"slices"
	"strings"
)

// found is a path that matches. The lesser of two paths is the better match.
type found struct {
	path                string
	class, spread, size int
}

// The classes of matches, the best first.
const (
	nameStarts = iota // the last name begins with the words
	nameHas           // it contains them
	pathHas           // the path does
	nameSpread        // the last name has the letters, in order
	pathSpread        // the path has
)

// Match returns at most limit paths that contain the letters of the words in order, the
// best first. Capitals count if the words have any.
func (l *List) Match(words string, limit int) []string {
	if words == "" {
		return l.shallow(limit)
	}
	exact := words != strings.ToLower(words)
	var all []*found
	for _, c := range l.paths {
		text := c.folded
		if exact || len(c.folded) != len(c.path) {
			text = c.path
		}
		if f, ok := c.match(text, words); ok {
			all = append(all, &f)
		}
	}
	slices.SortFunc(all, func(a, b *found) int {
		return cmp.Or(
			cmp.Compare(a.class, b.class), cmp.Compare(a.spread, b.spread), cmp.Compare(a.size, b.size),
			strings.Compare(a.path, b.path),
		)
	})
	return paths(all, limit)
}

// shallow returns the paths with the fewest folders.
func (l *List) shallow(limit int) []string {
	var all []*found
	for _, c := range l.paths {
		all = append(all, &found{path: c.path, class: strings.Count(strings.TrimSuffix(c.path, "/"), "/")})
	}
	slices.SortFunc(
		all, func(a, b *found) int { return cmp.Or(cmp.Compare(a.class, b.class), strings.Compare(a.path, b.path)) },
	)
	return paths(all, limit)
}

func paths(all []*found, limit int) []string {
	out := make([]string, 0, min(len(all), limit))
	for _, f := range all[:min(len(all), limit)] {
		out = append(out, f.path)
	}
	return out
}

func (c candidate) match(text, words string) (found, bool) {
	f := found{path: c.path, size: len(c.path)}
	if at := strings.Index(text[c.base:], words); at >= 0 {
		if f.class = nameHas; at == 0 {
			f.class = nameStarts
		}
		return f, true
	}
	if strings.Contains(text, words) {
		f.class = pathHas
		return f, true
	}
	if n, ok := spread(text[c.base:], words); ok {
		f.class, f.spread = nameSpread, n
		return f, true
	}
	n, ok := spread(text, words)
	f.class, f.spread = pathSpread, n
	return f, ok
}

// spread returns over how many bytes the letters of the words are found, from the
// end of the text.
func spread(text, words string) (int, bool) {
	end, at := -1, len(text)
	for n := len(words) - 1; n >= 0; n-- {
		if at = strings.LastIndexByte(text[:at], words[n]); at < 0 {
			return 0, false
		}
		if end < 0 {
			end = at
		}
	}
	return end - at, true
}
