package quarantine

import "strings"

// configReader reads a configuration of git by the grammar of git's config.c. A line that
// git refuses is skipped: git obeys the rest in some versions and forms.
type configReader struct {
	text         string
	section, sub string
	list         []variable
}

// lenient reads a configuration that the user wrote in any form that git accepts.
func lenient(text string) []variable {
	r := configReader{text: strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")}
	for r.text != "" {
		switch c := r.text[0]; {
		case isSpace(c):
			r.text = r.text[1:]
		case c == '#' || c == ';':
			r.skipLine()
		case c == '[':
			r.text = r.text[1:]
			if !r.head() {
				r.skipLine()
			}
		case isLetter(c):
			if !r.variable() {
				r.skipLine()
			}
		default:
			r.skipLine()
		}
	}
	return r.list
}

func isSpace(c byte) bool  { return c == ' ' || c >= '\t' && c <= '\r' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isKey(c byte) bool    { return isLetter(c) || c >= '0' && c <= '9' || c == '-' }

func (r *configReader) skipLine() { _, r.text, _ = strings.Cut(r.text, "\n") }

// take returns the longest beginning of such characters.
func (r *configReader) take(is func(byte) bool) string {
	n := 0
	for n < len(r.text) && is(r.text[n]) {
		n++
	}
	taken := r.text[:n]
	r.text = r.text[n:]
	return taken
}

// head reads a section's head behind its "[".
func (r *configReader) head() bool {
	name := strings.ToLower(r.take(func(c byte) bool { return isKey(c) || c == '.' }))
	section, sub, _ := strings.Cut(name, ".")
	if spaces := r.take(func(c byte) bool { return isSpace(c) && c != '\n' }); spaces != "" {
		quoted, ok := r.quoted()
		if !ok {
			return false
		}
		if sub != "" {
			sub += "."
		}
		sub += quoted
	}
	if !strings.HasPrefix(r.text, "]") {
		return false
	}
	r.text = r.text[1:]
	r.section, r.sub = section, sub
	return true
}

// quoted reads the quoted name of a subsection.
func (r *configReader) quoted() (string, bool) {
	if !strings.HasPrefix(r.text, `"`) {
		return "", false
	}
	var name strings.Builder
	for i := 1; i < len(r.text) && r.text[i] != '\n'; i++ {
		switch c := r.text[i]; {
		case c == '"':
			r.text = r.text[i+1:]
			return name.String(), true
		case c == '\\' && i+1 < len(r.text) && r.text[i+1] != '\n':
			i++
			name.WriteByte(r.text[i])
		default:
			name.WriteByte(c)
		}
	}
	return "", false
}

// variable reads a key and its value.
func (r *configReader) variable() bool {
	v := variable{section: r.section, sub: r.sub, key: strings.ToLower(r.take(isKey))}
	r.take(func(c byte) bool { return c == ' ' || c == '\t' })
	switch {
	case r.text == "" || r.text[0] == '\n':
	case r.text[0] != '=':
		return false
	default:
		r.text = r.text[1:]
		var ok bool
		if v.value, ok = r.value(); !ok {
			return false
		}
	}
	r.list = append(r.list, v)
	return true
}

// value reads a value up to the end of its line, with its quotes, comments, escapes and
// continued lines.
func (r *configReader) value() (string, bool) {
	var value []byte
	quoted, comment, end := false, false, -1 // end is where trailing blanks begin
	for i := 0; ; i++ {
		if i == len(r.text) || r.text[i] == '\n' {
			if r.text = r.text[i:]; quoted {
				return "", false
			}
			if end >= 0 {
				value = value[:end]
			}
			return string(value), true
		}
		c := r.text[i]
		switch {
		case comment:
			continue
		case isSpace(c) && !quoted:
			if end < 0 {
				end = len(value)
			}
			if len(value) > 0 {
				value = append(value, c)
			}
			continue
		case !quoted && (c == ';' || c == '#'):
			comment = true
			continue
		}
		end = -1
		switch {
		case c == '"':
			quoted = !quoted
		case c != '\\':
			value = append(value, c)
		default:
			i++
			if i == len(r.text) {
				i-- // git reads the end of the file as the end of a line
				continue
			}
			escaped, ok := map[byte]string{'\n': "", 't': "\t", 'b': "\b", 'n': "\n", '\\': `\`, '"': `"`}[r.text[i]]
			if !ok {
				return "", false
			}
			value = append(value, escaped...)
		}
	}
}
