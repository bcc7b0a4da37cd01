package quarantine

import "strings"

// maxNested bounds the commands in words of commands.
const maxNested = 8

// unknownText stands in a word for what another command prints.
const unknownText = "$"

// read splits the text of a shell into simple commands, without redirections, and runs each,
// those in words before the command itself.
func (c *commandReader) read(text string, depth int) {
	if depth > maxNested {
		c.isUncertain = true
		return
	}
	r := wordReader{text: text, substituted: func(inner string) {
		dir := c.dir
		c.read(inner, depth+1)
		c.dir = dir
	}}
	for {
		words, more := r.command()
		c.run(words, depth)
		if !more {
			return
		}
	}
}

// wordReader splits the text of a shell into words.
type wordReader struct {
	text        string
	substituted func(command string) // receives each command whose output is part of a word
	word        strings.Builder
	isWord      bool // a word has begun, perhaps an empty one
	redirects   bool // the next word is the file of a redirection
	words       []string
}

// command returns the words of the next simple command; more reports whether text is left.
func (r *wordReader) command() (words []string, more bool) {
	r.words = nil
	for r.text != "" {
		char := r.text[0]
		r.text = r.text[1:]
		switch {
		case strings.IndexByte(" \t\r", char) >= 0:
			r.end()
		case char == '<' || char == '>':
			r.redirect()
		case char == '&' && strings.HasPrefix(r.text, ">"): // &>file
		case strings.IndexByte("\n;&|()", char) >= 0:
			r.end()
			r.redirects = false
			return r.words, true
		default:
			r.isWord = true
			r.part(char)
		}
	}
	r.end()
	return r.words, false
}

// end ends a word.
func (r *wordReader) end() {
	if r.isWord && !r.redirects {
		r.words = append(r.words, r.word.String())
	}
	r.redirects = r.redirects && !r.isWord
	r.isWord = false
	r.word.Reset()
}

// redirect reads the rest of a redirection's operator. Digits before it belong to it.
func (r *wordReader) redirect() {
	if strings.Trim(r.word.String(), "0123456789") == "" {
		r.isWord = false
		r.word.Reset()
	}
	r.end()
	if strings.HasPrefix(r.text, "(") { // a command as a file
		return
	}
	r.text = strings.TrimLeft(r.text, "<>&|")
	r.redirects = true
}

// part reads a character of a word, or more from a quote or a dollar sign on.
func (r *wordReader) part(char byte) {
	switch char {
	case '\\':
		if r.text != "" {
			r.word.WriteByte(r.text[0])
			r.text = r.text[1:]
		}
	case '\'':
		quoted, rest, _ := strings.Cut(r.text, "'")
		r.word.WriteString(quoted)
		r.text = rest
	case '"':
		for r.text != "" {
			char := r.text[0]
			r.text = r.text[1:]
			if char == '"' {
				return
			}
			if char == '\\' && (r.text == "" || strings.IndexByte("\"\\$`", r.text[0]) < 0) || char == '\'' {
				r.word.WriteByte(char)
				continue
			}
			r.part(char)
		}
	case '`', '$':
		r.substitute(char)
	default:
		r.word.WriteByte(char)
	}
}

// substitute reads a command whose output is part of the word, or the mark of a variable.
func (r *wordReader) substitute(char byte) {
	r.word.WriteString(unknownText)
	switch {
	case char == '`':
		inner, rest, _ := strings.Cut(r.text, "`")
		r.text = rest
		r.substituted(inner)
	case strings.HasPrefix(r.text, "("):
		depth, end := 0, len(r.text)
		for i := range len(r.text) {
			if r.text[i] == '(' {
				depth++
			} else if r.text[i] == ')' {
				if depth--; depth == 0 {
					end = i
					break
				}
			}
		}
		inner := r.text[1:end]
		r.text = r.text[min(end+1, len(r.text)):]
		r.substituted(inner)
	}
}
