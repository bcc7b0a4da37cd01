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
	r := wordReader{text: text, substituted: func(inner string) { c.inner(inner, depth) }}
	for more := true; more; {
		more = r.command()
		c.run(r.words, r.input, depth)
		if r.separator != "&&" { // a cd can have failed, or was that of a subshell
			c.dirs = c.entered
		}
	}
}

// inner reads the text of another shell, whose directory is its own.
func (c *commandReader) inner(text string, depth int) {
	dirs, entered := c.dirs, c.entered
	c.read(text, depth+1)
	c.dirs, c.entered = dirs, entered
}

// input is what redirections give to the standard input of a command.
type input struct{ files, texts []string }

// wordReader splits the text of a shell into words.
type wordReader struct {
	text        string
	substituted func(command string) // receives each command whose output is part of a word
	word        strings.Builder
	isWord      bool   // a word has begun, perhaps an empty one
	redirects   string // the operator of a redirection, whose file or text is the next word
	words       []string
	input       input
	separator   string // what ended the command
}

// command reads the words and the input of the next simple command; more reports whether text is left.
func (r *wordReader) command() (more bool) {
	r.words, r.input, r.separator = nil, input{}, ""
	for r.text != "" {
		char := r.text[0]
		r.text = r.text[1:]
		switch {
		case strings.IndexByte(" \t\r", char) >= 0:
			r.end()
		case char == '<' || char == '>':
			r.redirect(char)
		case char == '&' && strings.HasPrefix(r.text, ">"): // &>file
		case strings.IndexByte("\n;&|()", char) >= 0:
			r.end()
			r.redirects, r.separator = "", string(char)
			if (char == '&' || char == '|') && strings.HasPrefix(r.text, r.separator) {
				r.separator, r.text = r.separator+r.separator, r.text[1:]
			}
			return true
		default:
			r.isWord = true
			r.part(char)
		}
	}
	r.end()
	return false
}

// end ends a word.
func (r *wordReader) end() {
	if !r.isWord {
		return
	}
	word := r.word.String()
	switch r.redirects {
	case "":
		r.words = append(r.words, word)
	case "<", "<>":
		r.input.files = append(r.input.files, word)
	case "<<<":
		r.input.texts = append(r.input.texts, word)
	}
	r.redirects, r.isWord = "", false
	r.word.Reset()
}

// redirect reads the rest of a redirection's operator. Digits before it belong to it.
func (r *wordReader) redirect(char byte) {
	if strings.Trim(r.word.String(), "0123456789") == "" {
		r.isWord = false
		r.word.Reset()
	}
	r.end()
	if strings.HasPrefix(r.text, "(") { // a command as a file
		return
	}
	rest := strings.TrimLeft(r.text, "<>&|")
	r.redirects, r.text = string(char)+r.text[:len(r.text)-len(rest)], rest
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
