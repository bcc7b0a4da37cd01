package frontmatter

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// mostHead bounds a head in bytes.
const mostHead = 64 << 10

var (
	// keyed is a key with what follows it.
	keyed = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^["']?([A-Za-z0-9_][A-Za-z0-9_.-]*)["']?[ \t]*:(?:[ \t]+(.*))?$`)
	})
	// block begins a text of several lines.
	block = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[|>][-+0-9]{0,2}(?:[ \t]+#.*)?$`) })
)

// Parse reads a head: the part of YAML that heads are written in. Its error says
// what is wrong, in one line.
func Parse(head string) (Head, error) {
	if len(head) > mostHead {
		return nil, fmt.Errorf("the head has more than %d bytes", mostHead)
	}
	lines := strings.Split(strings.TrimRight(head, "\n"), "\n")
	h := Head{}
	for n := 0; n < len(lines); {
		line := strings.TrimRight(lines[n], " \t")
		if line == "" || line[0] == '#' {
			n++
			continue
		}
		m := keyed().FindStringSubmatch(line)
		switch {
		case m == nil && len(h) == 0:
			return nil, errors.New("the head is no list of keys and values")
		case m == nil:
			return nil, fmt.Errorf("the head is no valid YAML: line %d has no key", n+2)
		}
		if _, double := h[m[1]]; double {
			return nil, fmt.Errorf("the head has %q twice", m[1])
		}
		end := n + 1
		for end < len(lines) && belongs(lines[end], m[2] == "") {
			end++
		}
		v, err := value(m[2], lines[n+1:end])
		if err != nil {
			return nil, fmt.Errorf("the head is no valid YAML: line %d: %w", n+2, err)
		}
		h[m[1]] = v
		n = end
	}
	return h, nil
}

// belongs reports whether a line goes on with the value of the key before it; the
// parts of a list need no indent.
func belongs(line string, open bool) bool {
	return strings.TrimSpace(line) == "" || line[0] == ' ' || open && (line == "-" || strings.HasPrefix(line, "- "))
}

// value reads what stands behind a key, and on the lines that belong to it.
func value(first string, more []string) (Value, error) {
	switch {
	case block().MatchString(first):
		return Value{text: blockText(more, first[0] == '>')}, nil
	case first == "" || first[0] == '#':
		return nested(more)
	}
	all := joined(append([]string{first}, more...))
	if all == "" { // spaces of other scripts
		return Value{}, nil
	}
	switch open, shut := all[0], all[len(all)-1]; {
	case open == '[' && shut == ']' && closes(all) == len(all)-1:
		v := Value{list: []string{}}
		for _, part := range parts(all[1 : len(all)-1]) {
			v.list = append(v.list, scalar(part))
		}
		return v, nil
	case open == '{' && shut == '}' && closes(all) == len(all)-1:
		v := Value{keys: map[string]string{}}
		for _, part := range parts(all[1 : len(all)-1]) {
			key, text, _ := strings.Cut(part, ":")
			v.keys[scalar(key)] = scalar(text)
		}
		return v, nil
	case (open == '"' || open == '\'') && closing(all) < 0:
		return Value{}, errors.New("a quote is left open")
	}
	return Value{text: scalar(all)}, nil
}

// nested reads a list, keys of their own, or a text on the lines after a key.
func nested(lines []string) (Value, error) {
	var v Value
	indent := -1
	var text []string
	last := ""
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		at := len(line) - len(strings.TrimLeft(line, " "))
		if indent < 0 {
			indent = at
		}
		part, isPart := strings.CutPrefix(trimmed+" ", "- ")
		m := keyed().FindStringSubmatch(trimmed)
		switch {
		case isPart && at == indent && v.keys == nil && text == nil:
			v.list = append(v.list, scalar(part))
		case v.list != nil: // it goes on with the part before it
			v.list[len(v.list)-1] += " " + trimmed
		case m != nil && at == indent && text == nil:
			if v.keys == nil {
				v.keys = map[string]string{}
			}
			last = m[1]
			v.keys[last] = scalar(m[2])
		case v.keys != nil:
			v.keys[last] = strings.TrimSpace(v.keys[last] + " " + trimmed)
		default:
			text = append(text, trimmed)
		}
	}
	if text != nil {
		return value(joined(text), nil)
	}
	return v, nil
}

// blockText is a text as its lines are, or folded: without their ends.
func blockText(lines []string, folded bool) string {
	indent := -1
	var b strings.Builder
	for _, line := range lines {
		trimmed := strings.TrimLeft(line, " ")
		if indent < 0 && trimmed != "" {
			indent = len(line) - len(trimmed)
		}
		line = line[min(max(indent, 0), len(line)-len(trimmed)):]
		switch {
		case !folded || trimmed == "":
			b.WriteString(line + "\n")
		default:
			b.WriteString(line + " ")
		}
	}
	return strings.TrimSpace(b.String())
}

// joined is lines as one.
func joined(lines []string) string {
	return strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
}

// scalar is a text without its quotes, or without the comment behind it.
func scalar(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || text == "~" || text == "null" {
		return ""
	}
	if text[0] == '"' || text[0] == '\'' {
		end := closing(text)
		if end < 0 || !isComment(text[end+1:]) {
			return text
		}
		if text[0] == '\'' {
			return strings.ReplaceAll(text[1:end], "''", "'")
		}
		if plain, err := strconv.Unquote(text[:end+1]); err == nil {
			return plain
		}
		return text[1:end]
	}
	if text[0] == '#' {
		return ""
	}
	text, _, _ = strings.Cut(text, " #")
	return strings.TrimSpace(text)
}

func isComment(rest string) bool {
	rest = strings.TrimSpace(rest)
	return rest == "" || rest[0] == '#'
}

// closing is where the quote ends that a text begins with; negative if it does not.
func closing(text string) int {
	for n := 1; n < len(text); n++ {
		switch {
		case text[0] == '"' && text[n] == '\\':
			n++
		case text[n] != text[0]:
		case text[0] == '\'' && n+1 < len(text) && text[n+1] == '\'':
			n++
		default:
			return n
		}
	}
	return -1
}

// closes is where the bracket ends that a text begins with; negative if it does not.
func closes(text string) int {
	depth := 0
	for n := range len(text) {
		switch text[n] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return n
			}
		}
	}
	return -1
}

// parts are what commas part, outside of quotes and brackets.
func parts(text string) (out []string) {
	depth, begin := 0, 0
	for n := 0; n < len(text); n++ {
		switch text[n] {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			depth--
		case '"', '\'':
			if strings.TrimSpace(text[begin:n]) == "" {
				if end := closing(text[n:]); end > 0 {
					n += end
				}
			}
		case ',':
			if depth == 0 {
				out = append(out, text[begin:n])
				begin = n + 1
			}
		}
	}
	if strings.TrimSpace(text[begin:]) != "" {
		out = append(out, text[begin:])
	}
	return out
}
