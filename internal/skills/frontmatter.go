package skills

import "strings"

// Head is the front matter between the dashes, by key.
type Head map[string]Value

// Value is a text, a list of texts, or a map of texts.
type Value struct {
	text string
	list []string
	keys map[string]string
}

// Clean makes a text valid UTF-8 with plain line ends.
func Clean(text string) string {
	text = strings.TrimPrefix(strings.ToValidUTF8(text, "\uFFFD"), "\ufeff")
	return strings.ReplaceAll(text, "\r\n", "\n")
}

// Split splits a clean text into its head and its body. Without a head, ok is false and
// body is the whole text.
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

// Text returns a value as a text; "" if there is none. A list, such as "argument-hint:
// [FILE]", is returned as written.
func (h Head) Text(key string) string {
	v := h[key]
	if v.list != nil {
		return "[" + strings.Join(v.list, ", ") + "]"
	}
	return strings.TrimSpace(v.text)
}

// List returns the items of a list, or of a text that contains a list. Commas or spaces
// outside parentheses and braces separate the items of a text.
func (h Head) List(key string) []string {
	v := h[key]
	if v.list != nil {
		return v.list
	}
	return FrontmatterWords(v.text)
}

// FrontmatterWords splits "Read, Bash(git log:*) Edit" into its three words.
func FrontmatterWords(text string) (out []string) {
	depth, begin := 0, 0
	for n, r := range text + "," {
		switch {
		case r == '(' || r == '{':
			depth++
		case r == ')' || r == '}':
			depth--
		case depth <= 0 && (r == ',' || r == ' ' || r == '\n' || r == '\t'):
			if word := strings.TrimSpace(text[begin:n]); word != "" {
				out = append(out, word)
			}
			begin = n + 1
		}
	}
	if depth > 0 { // the parenthesis is not closed
		out = append(out, strings.TrimSpace(text[min(begin, len(text)):]))
	}
	return out
}

// Map returns the texts of a value that is a map.
func (h Head) Map(key string) map[string]string { return h[key].keys }

// Bool returns whether a value means yes; otherwise is the default.
func (h Head) Bool(key string, otherwise bool) bool {
	switch strings.ToLower(h.Text(key)) {
	case "true", "yes", "on":
		return true
	case "false", "no", "off":
		return false
	}
	return otherwise
}
