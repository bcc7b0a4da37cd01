package frontmatter

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// mostHead bounds a head in bytes.
const mostHead = 64 << 10

// Head is what stands between the dashes, by key.
type Head map[string]yaml.Node

// Clean makes a text valid UTF-8 with plain line ends.
func Clean(text string) string {
	text = strings.TrimPrefix(strings.ToValidUTF8(text, "\uFFFD"), "\ufeff")
	return strings.ReplaceAll(text, "\r\n", "\n")
}

// Split parts a clean text into its head and its body. Without a head, ok is false
// and the body is all of it.
func Split(text string) (head, body string, ok bool) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text, false
	}
	at := 0
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\n") == "---" {
			return rest[:at], rest[at+len(line):], true
		}
		at += len(line)
	}
	return "", text, false
}

// Parse reads a head. Its error says what is wrong, in one line.
func Parse(head string) (Head, error) {
	if len(head) > mostHead {
		return nil, fmt.Errorf("the head has more than %d bytes", mostHead)
	}
	h, err := decode(head)
	if err == nil {
		return h, nil
	}
	if quoted := quote(head); quoted != head {
		if h, again := decode(quoted); again == nil {
			return h, nil
		}
	}
	return nil, err
}

func decode(head string) (h Head, err error) {
	defer func() {
		if r := recover(); r != nil { // a defect of the library's is not ours to spread
			h, err = nil, fmt.Errorf("the head is not understood: %v", r)
		}
	}()
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(head), &document); err != nil {
		return nil, fmt.Errorf("the head is no valid YAML: %s", oneLine(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	if len(document.Content) == 0 {
		return Head{}, nil
	}
	top := document.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, errors.New("the head is no list of keys and values")
	}
	h = Head{}
	for n := 0; n+1 < len(top.Content); n += 2 {
		key := top.Content[n].Value
		if _, double := h[key]; double {
			return nil, fmt.Errorf("the head has %q twice", key)
		}
		h[key] = *top.Content[n+1]
	}
	return h, nil
}

// quote puts the values of plain lines into quotes.
func quote(head string) string {
	var b strings.Builder
	for line := range strings.Lines(head) {
		m := plainLine().FindStringSubmatch(strings.TrimRight(line, " \t\n"))
		if len(m) == 0 || strings.ContainsAny(m[2][:1], `"'|>`) {
			b.WriteString(line)
			continue
		}
		b.WriteString(m[1] + ": '" + strings.ReplaceAll(m[2], "'", "''") + "'\n")
	}
	return b.String()
}

// plainLine is a key at the beginning of a line with its value.
var plainLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*):[ \t]+(\S.*)$`)
})

// Text returns a value as a text; "" if there is none. A list, such as
// "argument-hint: [FILE]", is what it was written as.
func (h Head) Text(key string) string {
	n, ok := h[key]
	if !ok {
		return ""
	}
	return text(n)
}

func text(n yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return ""
		}
		return strings.TrimSpace(n.Value)
	case yaml.SequenceNode:
		return "[" + strings.Join(list(n), ", ") + "]"
	}
	return ""
}

// List returns a value that is a list, or a text with a list in it, as its parts. The
// parts of a text are parted by commas or spaces outside of parentheses.
func (h Head) List(key string) []string {
	n, ok := h[key]
	if !ok {
		return nil
	}
	if n.Kind == yaml.SequenceNode {
		return list(n)
	}
	return Words(text(n))
}

func list(n yaml.Node) (out []string) {
	for _, part := range n.Content {
		if part.Kind == yaml.ScalarNode {
			out = append(out, strings.TrimSpace(part.Value))
		}
	}
	return out
}

// Words parts "Read, Bash(git log:*) Edit" into its three words.
func Words(text string) (out []string) {
	depth, begin := 0, 0
	for n, r := range text + "," {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case depth <= 0 && (r == ',' || r == ' ' || r == '\n' || r == '\t'):
			if word := strings.TrimSpace(text[begin:n]); word != "" {
				out = append(out, word)
			}
			begin = n + 1
		}
	}
	if depth > 0 { // it was left open
		out = append(out, strings.TrimSpace(text[min(begin, len(text)):]))
	}
	return out
}

// Map returns the texts of a value that has keys of its own.
func (h Head) Map(key string) map[string]string {
	n, ok := h[key]
	if !ok || n.Kind != yaml.MappingNode {
		return nil
	}
	out := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		out[n.Content[i].Value] = text(*n.Content[i+1])
	}
	return out
}

// Bool returns whether a value says yes; otherwise what is the default.
func (h Head) Bool(key string, otherwise bool) bool {
	switch strings.ToLower(h.Text(key)) {
	case "true", "yes", "on":
		return true
	case "false", "no", "off":
		return false
	}
	return otherwise
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
