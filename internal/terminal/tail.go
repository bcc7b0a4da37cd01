package terminal

import "strings"

// maxTail is how many bytes are kept of an output to show its end.
const maxTail = 4 << 10

// Tail returns the end of a growing output, long enough for [LastLines].
func Tail(output string) string {
	if len(output) <= maxTail {
		return output
	}
	return strings.ToValidUTF8(output[len(output)-maxTail/2:], "")
}

// LastLines returns the last limit lines of an output that are not empty, and how many
// lines precede them. If a program rewrote a line, as a progress bar does, it returns the
// last version.
func LastLines(output string, most int) (lines []string, more int) {
	for line := range strings.SplitSeq(strings.ReplaceAll(output, "\r\n", "\n"), "\n") {
		line = strings.TrimRight(line, "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	more = max(len(lines)-most, 0)
	return lines[more:], more
}
