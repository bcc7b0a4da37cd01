package ignore

import "strings"

// wildResult is the result of matching the rest of a pattern with the rest of a text. It reports to
// the stars before it when a retry is useless: without it, "*a*a*a*b" takes exponential time.
type wildResult int

const (
	wildMatch   wildResult = iota
	wildNo                 // not here; a star can retry at a later byte
	wildNoStar             // not before the next slash; a ** can retry later
	wildNowhere            // the text is at its end; no star can retry
)

// wildPattern is a .gitignore glob (gitignore(5); the algorithm of wildmatch.c in git, with
// its flag for paths). It works on bytes.
type wildPattern string

func (w wildPattern) matches(text string) bool { return w.at(0, text) == wildMatch }

// at matches the pattern from index i on with all of text.
func (w wildPattern) at(i int, text string) wildResult {
	for ; i < len(w); i++ {
		if text == "" && w[i] != '*' {
			return wildNowhere
		}
		switch w[i] {
		case '*':
			return w.star(i, text)
		case '?':
			if text[0] == '/' {
				return wildNo
			}
		case '[':
			end, in := w.class(i, text[0])
			if end < 0 {
				return wildNowhere
			}
			if !in || text[0] == '/' {
				return wildNo
			}
			i = end
		case '\\':
			if i++; i == len(w) {
				return wildNowhere
			}
			fallthrough
		default:
			if w[i] != text[0] {
				return wildNo
			}
		}
		text = text[1:]
	}
	if text != "" {
		return wildNo
	}
	return wildMatch
}

// star matches from the star at index i on.
func (w wildPattern) star(i int, text string) wildResult {
	end := i
	for end < len(w) && w[end] == '*' {
		end++
	}
	rest := string(w[end:])
	slashes := end-i > 1 && (i == 0 || w[i-1] == '/') && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
	if slashes && strings.HasPrefix(rest, "/") { // "**/" can match no directory at all.
		if got := w.at(end+1, text); got == wildMatch || got == wildNowhere {
			return got
		}
	}
	if rest == "" {
		if !slashes && strings.Contains(text, "/") {
			return wildNoStar
		}
		return wildMatch
	}
	for {
		got := w.at(end, text)
		if got == wildMatch || got == wildNowhere || got == wildNoStar && !slashes {
			return got
		}
		if text == "" {
			return wildNowhere
		}
		if !slashes && text[0] == '/' {
			return wildNoStar
		}
		text = text[1:]
	}
}

// class reports whether c is in the bracket expression at index i, and returns the index of
// its closing bracket; -1 if it is not closed.
func (w wildPattern) class(i int, c byte) (end int, in bool) {
	i++
	negated := i < len(w) && (w[i] == '!' || w[i] == '^')
	if negated {
		i++
	}
	for first := true; i < len(w) && (first || w[i] != ']'); first = false {
		if name, size := classNameAt(string(w[i:])); size > 0 {
			in = in || inClass(name, c)
			i += size
			continue
		}
		low, next := w.classByte(i)
		if next < 0 {
			return -1, false
		}
		high := low
		if next+1 < len(w) && w[next] == '-' && w[next+1] != ']' {
			if high, next = w.classByte(next + 1); next < 0 {
				return -1, false
			}
		}
		in = in || low <= c && c <= high
		i = next
	}
	if i >= len(w) {
		return -1, false
	}
	return i, in != negated
}

// classByte reads one byte of a bracket expression, escaped or not.
func (w wildPattern) classByte(i int) (c byte, next int) {
	if w[i] == '\\' {
		i++
	}
	if i >= len(w) {
		return 0, -1
	}
	return w[i], i + 1
}

// classNameAt reads "[:name:]".
func classNameAt(s string) (name string, size int) {
	if !strings.HasPrefix(s, "[:") {
		return "", 0
	}
	name, _, found := strings.Cut(s[2:], ":]")
	if !found || strings.Contains(name, "]") {
		return "", 0
	}
	return name, len(name) + 4
}

func inClass(name string, c byte) bool {
	lower, upper, digit := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9'
	graph := c > ' ' && c < 0x7f
	switch name {
	case "alnum":
		return lower || upper || digit
	case "alpha":
		return lower || upper
	case "blank":
		return c == ' ' || c == '\t'
	case "cntrl":
		return c < ' ' || c == 0x7f
	case "digit":
		return digit
	case "graph":
		return graph
	case "lower":
		return lower
	case "print":
		return graph || c == ' '
	case "punct":
		return graph && !lower && !upper && !digit
	case "space":
		return c == ' ' || c >= '\t' && c <= '\r'
	case "upper":
		return upper
	case "xdigit":
		return digit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
	}
	return false
}
