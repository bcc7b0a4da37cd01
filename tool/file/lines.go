package file

import (
	"bytes"
	"strings"
)

// line is one line of a file with its ending: "\n", "\r\n", or "" at the end of a file
// without one. Both are the bytes of the file, in any encoding.
type line struct {
	text string
	end  string
}

func (l line) String() string { return l.text + l.end }

// splitLines splits a file; the joined lines are equal to the file.
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

// lineEnding returns the most common line ending in data, "" if there is none.
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

// withEnding replaces each line ending in text by end; an empty end keeps them.
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

// utf8BOM can begin a file; models do not see it, so settle keeps it.
const utf8BOM = "\uFEFF"

// lineNumber returns the number, from 1, of the line that contains the byte at offset.
func lineNumber(data []byte, offset int) int {
	return 1 + bytes.Count(data[:offset], []byte("\n"))
}
