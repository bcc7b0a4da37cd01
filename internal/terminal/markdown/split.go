package markdown

import (
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a block.
type Kind string

// The kinds.
const (
	Prose Kind = "prose" // Markdown, but for code
	Code  Kind = "code"  // one line of code
)

// Block is a part of a text.
type Block struct {
	Kind Kind
	Text string
	// First reports that an empty row precedes the block.
	First bool
	// Language is the language of the code, and Inside the state at the start of the line,
	// such as a comment.
	Language string
	Inside   Inside
}

// maxProse is the maximum length of a block of prose, in bytes: a longer block is cut after a line,
// so that a text without empty lines cannot keep everything open.
const maxProse = 8 << 10

// maxLine is the maximum length of a line in bytes. A longer line is cut, because each
// frame lays out the open line.
const maxLine = 8 << 10

// Splitter cuts a text into blocks. The zero value is ready.
type Splitter struct {
	rest  string   // the line that is not whole yet
	lines []string // of the prose block that grows
	size  int
	// list reports that the block is a list, which can contain empty lines. nested is the
	// fence of code within it.
	list   bool
	blank  bool // an empty line came last
	nested string

	fence    string // of the code block that is open
	language string
	inside   Inside
	first    bool // the next line of code is the first
}

// Write takes more text and returns the blocks that it completes.
func (s *Splitter) Write(text string) (done []Block) {
	s.rest += text
	for {
		line, rest, complete := strings.Cut(s.rest, "\n")
		switch {
		case len(line) > maxLine:
			at := lineEnd(line)
			line, rest = line[:at], s.rest[at:]
		case !complete:
			return done
		}
		s.rest = rest
		done = s.line(done, strings.TrimSuffix(line, "\r"))
	}
}

// lineEnd returns the position at which a line that is too long is cut, after a word if there is
// one.
func lineEnd(line string) int {
	if at := strings.LastIndexByte(line[:maxLine], ' '); at > 0 {
		return at + 1
	}
	at := maxLine
	for at > 1 && !utf8.RuneStart(line[at]) {
		at--
	}
	return at
}

// Close takes the text for complete.
func (s *Splitter) Close() (done []Block) {
	if s.rest != "" {
		done = s.Write("\n")
	}
	return s.finish(done)
}

// Open returns the block that grows, with the beginning of a line if there is
// one.
func (s *Splitter) Open() Block {
	if s.fence != "" {
		return Block{Kind: Code, Text: s.rest, First: s.first, Language: s.language, Inside: s.inside}
	}
	return Block{
		Kind:  Prose,
		Text:  strings.Join(append(s.lines[:len(s.lines):len(s.lines)], s.rest), "\n"),
		First: true,
	}
}

func (s *Splitter) line(done []Block, line string) []Block {
	trimmed := strings.TrimLeft(line, " ")
	indent := len(line) - len(trimmed)
	switch {
	case s.fence != "":
		return s.code(done, line, trimmed, indent)
	case s.nested != "":
		if closes(trimmed, s.nested) {
			s.nested = ""
		}
		return s.add(done, line)
	case strings.TrimSpace(line) == "":
		if !s.list {
			return s.finish(done)
		}
		s.blank = true
		return s.add(done, line)
	case s.list && s.blank && indent < 2 && !strings.HasPrefix(line, "\t"):
		done = s.finish(done)
	}
	s.blank = false
	mark, language := fence(trimmed)
	switch {
	case mark != "" && s.list && indent >= 2:
		s.nested = mark
	case mark != "" && indent < 4:
		done = s.finish(done)
		s.fence, s.language, s.inside, s.first = mark, language, "", true
		return done
	case !s.list && indent < 4 && heading(trimmed):
		return s.finish(s.add(s.finish(done), line))
	case len(s.lines) == 0:
		s.list = indent < 4 && item(trimmed)
	}
	return s.add(done, line)
}

// add takes a line into the prose block that grows.
func (s *Splitter) add(done []Block, line string) []Block {
	s.lines = append(s.lines, line)
	if s.size += len(line) + 1; s.size >= maxProse && s.nested == "" {
		return s.finish(done)
	}
	return done
}

// code takes a line of a code block.
func (s *Splitter) code(done []Block, line, trimmed string, indent int) []Block {
	if indent < 4 && closes(trimmed, s.fence) {
		s.fence = ""
		return done
	}
	done = append(done, Block{Kind: Code, Text: line, First: s.first, Language: s.language, Inside: s.inside})
	_, s.inside = Highlight(s.language, s.inside, line)
	s.first = false
	return done
}

func (s *Splitter) finish(done []Block) []Block {
	text := strings.TrimRight(strings.Join(s.lines, "\n"), "\n ")
	s.lines, s.size, s.list, s.blank, s.nested = nil, 0, false, false, ""
	if strings.TrimSpace(text) == "" {
		return done
	}
	return append(done, Block{Kind: Prose, Text: text, First: true})
}

// fence returns the mark with which a line begins a block of code, and the
// code's language.
func fence(line string) (mark, language string) {
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, c)
		if n := len(line) - len(rest); n >= 3 && (c == "~" || !strings.Contains(rest, "`")) {
			if words := strings.Fields(rest); len(words) > 0 {
				language = strings.ToLower(words[0])
			}
			return line[:n], language
		}
	}
	return "", ""
}

// closes reports whether a line ends the code that the mark began.
func closes(line, mark string) bool {
	line = strings.TrimRight(line, " \t")
	return len(line) >= len(mark) && strings.Trim(line, mark[:1]) == ""
}

func heading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	n := len(line) - len(rest)
	return n >= 1 && n <= 6 && (rest == "" || rest[0] == ' ')
}

// item reports whether a line begins an item of a list.
func item(line string) bool {
	rest := strings.TrimLeft(line, "0123456789")
	if n := len(line) - len(rest); n > 9 || n > 0 && (rest == "" || rest[0] != '.' && rest[0] != ')') || n == 0 &&
		strings.IndexAny(line, "-*+") != 0 {
		return false
	}
	return len(rest) > 1 && rest[1] == ' '
}
