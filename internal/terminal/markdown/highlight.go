package markdown

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/terminal"
)

// Inside is the delimiter that ends a comment or string of several lines in which a line
// begins; empty for plain code.
type Inside string

// Highlight returns a colored line of code, and the state at the start of the next line.
// Code in an unknown language has no color; a line of a diff has the color of its sign.
func Highlight(name string, inside Inside, line string) (terminal.Line, Inside) {
	if name == "diff" || name == "patch" {
		return terminal.Plain(line, DiffStyle(line)), ""
	}
	for _, l := range Languages() {
		if slices.Contains(l.Names, name) {
			return l.highlight(inside, line)
		}
	}
	return terminal.Plain(line, terminal.Style{}), ""
}

// DiffStyle returns the style of a line of a unified diff.
func DiffStyle(line string) terminal.Style {
	switch {
	case strings.HasPrefix(line, "+"):
		return terminal.Style{Color: terminal.Green}
	case strings.HasPrefix(line, "-"):
		return terminal.Style{Color: terminal.Red}
	case strings.HasPrefix(line, "@@"):
		return terminal.Style{Color: terminal.Cyan}
	}
	return terminal.Style{}
}

func (l Language) highlight(inside Inside, line string) (terminal.Line, Inside) {
	var out terminal.Line
	text := terminal.Style{Color: terminal.Green}
	comment := terminal.Style{Attr: terminal.Faint}
	if inside != "" {
		end := strings.Index(line, string(inside))
		if end < 0 {
			return terminal.Plain(line, l.block(inside)), inside
		}
		end += len(inside)
		out, line = append(out, terminal.Span{Text: line[:end], Style: l.block(inside)}), line[end:]
	}
	for line != "" {
		if slices.ContainsFunc(l.Line, func(mark string) bool { return strings.HasPrefix(line, mark) }) {
			return append(out, terminal.Span{Text: line, Style: comment}), ""
		}
		if b := slices.IndexFunc(l.Blocks, func(b [2]string) bool { return strings.HasPrefix(line, b[0]) }); b >= 0 {
			begin, stop := l.Blocks[b][0], Inside(l.Blocks[b][1])
			end := strings.Index(line[len(begin):], string(stop))
			if end < 0 {
				return append(out, terminal.Span{Text: line, Style: l.block(stop)}), stop
			}
			end += len(begin) + len(stop)
			out, line = append(out, terminal.Span{Text: line[:end], Style: l.block(stop)}), line[end:]
			continue
		}
		var style terminal.Style
		var n int
		switch c, size := utf8.DecodeRuneInString(line); {
		case strings.ContainsRune(l.Quotes, c):
			style, n = text, quoted(line)
		case unicode.IsDigit(c):
			style, n = terminal.Style{Color: terminal.Yellow}, word(line)
		case unicode.IsLetter(c) || c == '_':
			if n = word(line); l.keyword(line[:n]) {
				style = terminal.Style{Color: terminal.Magenta}
			}
		default:
			n = size
		}
		out, line = append(out, terminal.Span{Text: line[:n], Style: style}), line[n:]
	}
	return out, ""
}

// block returns the style of a comment or string of several lines, by its end.
func (l Language) block(end Inside) terminal.Style {
	if strings.ContainsAny(string(end), "\"'`]") {
		return terminal.Style{Color: terminal.Green}
	}
	return terminal.Style{Attr: terminal.Faint}
}

func (l Language) keyword(word string) bool {
	if l.Names[0] == "sql" {
		word = strings.ToLower(word)
	}
	i := strings.Index(" "+l.Keywords+" ", " "+word+" ")
	return i >= 0
}

// quoted returns the length of the string that the line begins with; one that
// does not end is a quote alone, such as an apostrophe.
func quoted(line string) int {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case line[0]:
			return i + 1
		}
	}
	return 1
}

// word returns the length of the name or number that the line begins with.
func word(line string) int {
	begin, _ := utf8.DecodeRuneInString(line)
	for i, c := range line {
		if c != '_' && c != '.' && !unicode.IsLetter(c) && !unicode.IsDigit(c) || c == '.' && !unicode.IsDigit(begin) {
			return i
		}
	}
	return len(line)
}
