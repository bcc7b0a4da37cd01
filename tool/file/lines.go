package file

import (
	"bytes"
	"strings"
)

// line is one line of a file with the ending that it has: "\n", "\r\n", or ""
// at the end of a file without one. Both are bytes as they are in the file,
// whatever their encoding.
type line struct {
	text string
	end  string
}

func (l line) String() string { return l.text + l.end }

// splitLines splits a file; joining the lines gives it back to the byte.
func splitLines(data string) []line {
	lines := make([]line, 0, strings.Count(data, "\n")+1)
	for data != "" {
		text, rest, found := strings.Cut(data, "\n")
		end := ""
		if found {
			end = "\n"
			if strings.HasSuffix(text, "\r") {
				text, end = text[:len(text)-1], "\r\n"
			}
		}
		lines = append(lines, line{text, end})
		data = rest
	}
	return lines
}

func joinLines(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
		b.WriteString(l.end)
	}
	return b.String()
}

// lineEnding returns the ending that most lines of data have, "" if none has.
func lineEnding(data []byte) string {
	crlf := bytes.Count(data, []byte("\r\n"))
	lf := bytes.Count(data, []byte("\n")) - crlf
	switch {
	case crlf == 0 && lf == 0:
		return ""
	case crlf > lf:
		return "\r\n"
	}
	return "\n"
}

// withEnding returns text with each line ending replaced by end; with no end
// to keep, as it is.
func withEnding(text, end string) string {
	if end == "" {
		return text
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if end == "\n" {
		return text
	}
	return strings.ReplaceAll(text, "\n", end)
}

// utf8BOM may begin a file; a model does not see it, so settle keeps it.
const utf8BOM = "\uFEFF"

// lineNumber returns the number, from 1, of the line that the byte at offset
// is in.
func lineNumber(data []byte, offset int) int {
	return 1 + bytes.Count(data[:offset], []byte("\n"))
}
