package skills

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"
)

// maxHead bounds a head in bytes.
const maxHead = 64 << 10

// keyed matches a key and the text after it.
var keyed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^["']?([A-Za-z0-9_][A-Za-z0-9_.-]*)["']?[ \t]*:(?:[ \t]+(.*))?$`)
})

// Parse reads a head in the part of YAML that heads use. Its error is one line.
func Parse(head string) (Head, error) {
	if len(head) > maxHead {
		return nil, fmt.Errorf("the head has more than %d bytes", maxHead)
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
		v, err := value(m[2], lines[n:end])
		if err != nil {
			return nil, fmt.Errorf("the head is no valid YAML: line %d: %w", n+2, err)
		}
		h[m[1]] = v
		n = end
	}
	return h, nil
}

// belongs reports whether a line continues the value of the previous key; items of a list
// need no indent.
func belongs(line string, open bool) bool {
	return strings.TrimSpace(line) == "" || line[0] == ' ' || open && (line == "-" || strings.HasPrefix(line, "- "))
}

// value reads an entry: the line of a key, with first after its colon, and its continuation
// lines. It interprets an entry that is not YAML by its apparent form.
func value(first string, entry []string) (Value, error) {
	if v, ok := fromYAML(strings.Join(entry, "\n")); ok {
		return v, nil
	}
	if first == "" || first[0] == '#' {
		return tolerant(entry[1:]), nil
	}
	text := strings.Join(strings.Fields(strings.Join(append([]string{first}, entry[1:]...), " ")), " ")
	if quote := text[:min(1, len(text))]; quote == "'" || quote == `"` {
		if (strings.Count(text, quote)-strings.Count(text, `\`+quote))%2 != 0 {
			return Value{}, errors.New("a quote is left open")
		}
	}
	return Value{text: withoutComment(text)}, nil
}

// fromYAML reads an entry that is YAML; false if it is not, or if its form is not a form of
// [Value].
func fromYAML(entry string) (v Value, ok bool) {
	var document yaml.Node
	if yaml.Unmarshal([]byte(entry), &document) != nil || len(document.Content) != 1 ||
		len(document.Content[0].Content) != 2 {
		return v, false
	}
	switch node := document.Content[0].Content[1]; node.Kind {
	case yaml.ScalarNode:
		v.text = text(node)
	case yaml.SequenceNode:
		v.list = []string{}
		for _, item := range node.Content {
			if item.Kind == yaml.MappingNode { // such as "- Bash(git: x)"
				return Value{}, false
			}
			v.list = append(v.list, text(item))
		}
	case yaml.MappingNode:
		v.keys = map[string]string{}
		for n := 0; n+1 < len(node.Content); n += 2 {
			v.keys[text(node.Content[n])] = text(node.Content[n+1])
		}
	default:
		return v, false
	}
	return v, true
}

// text returns a node as one text.
func text(node *yaml.Node) string {
	switch node.Kind {
	case yaml.ScalarNode:
		if node.Tag == "!!null" {
			return ""
		}
		return strings.TrimSpace(node.Value)
	case yaml.AliasNode:
		return "*" + node.Value
	}
	var parts []string
	for n, part := range node.Content {
		if node.Kind == yaml.MappingNode && n%2 == 1 {
			parts[len(parts)-1] += ": " + text(part)
			continue
		}
		parts = append(parts, text(part))
	}
	if node.Kind == yaml.MappingNode {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// tolerant reads a list, a map, or a text from the lines after a key.
func tolerant(lines []string) (v Value) {
	last := ""
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		item, isItem := strings.CutPrefix(line+" ", "- ")
		m := keyed().FindStringSubmatch(line)
		switch {
		case isItem && v.keys == nil && v.text == "":
			v.list = append(v.list, plain(item))
		case v.list != nil: // continues the previous item
			v.list[len(v.list)-1] += " " + line
		case m != nil && v.text == "":
			if v.keys == nil {
				v.keys = map[string]string{}
			}
			last = m[1]
			v.keys[last] = plain(m[2])
		case v.keys != nil:
			v.keys[last] = strings.TrimSpace(v.keys[last] + " " + line)
		default:
			v.text = strings.TrimSpace(v.text + " " + line)
		}
	}
	return v
}

// plain returns a text without its quotes, or without the comment after it.
func plain(line string) string {
	var document yaml.Node
	if yaml.Unmarshal([]byte(line), &document) == nil && len(document.Content) == 1 &&
		document.Content[0].Kind == yaml.ScalarNode {
		return text(document.Content[0])
	}
	return withoutComment(line)
}

func withoutComment(line string) string {
	line, _, _ = strings.Cut(line, " #")
	return strings.TrimSpace(line)
}
