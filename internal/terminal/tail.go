package terminal

import "strings"

// maxTail is the number of bytes of an output that are kept to show its end.
const maxTail = 4 << 10

// Tail returns the end of a growing output, long enough for [LastLines].
func Tail(output string) string {
	if len(output) <= maxTail {
		return output
	}
	return strings.ToValidUTF8(output[len(output)-maxTail/2:], "")
}

// LastLines returns the last lines of an output that are not empty, at most most.
func LastLines(output string, limit int) []string {
	lines := shownLines(output)
	return lines[max(len(lines)-limit, 0):]
}

// BothEnds returns the first and the last lines of an output that are not empty, at most
// head and tail, and how many lines between them are left out: none, or at least two. An
// output that is not long is in first.
func BothEnds(output string, head, tail int) (first []string, left int, last []string) {
	lines := shownLines(output)
	left = len(lines) - head - tail
	if left <= 1 { // the row that counts them would take the place of the one line
		return lines, 0, nil
	}
	return lines[:head], left, lines[head+left:]
}

// shownLines returns the lines of an output that are not empty. If a program rewrote a
// line, as a progress bar does, it returns the last version.
func shownLines(output string) (lines []string) {
	for line := range strings.SplitSeq(strings.ReplaceAll(output, "\r\n", "\n"), "\n") {
		line = strings.TrimRight(line, "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
