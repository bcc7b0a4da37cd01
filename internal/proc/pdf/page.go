package pdf

import (
	"math"
	"strings"
)

const (
	// wordGap is the least distance between words of a line. guessedGap replaces wordGap if the
	// widths of glyphs are guesses. paragraphGap is the least distance between the base lines of
	// paragraphs. The unit is the size of the font.
	wordGap, guessedGap, paragraphGap = 0.17, 1.0, 1.8
	// sameLine is the largest change of the base line within a line.
	sameLine = 0.4
)

// pageText makes lines of the strings of a page, in the order in which the file draws them. Most
// programs draw in the order of reading.
func pageText(runs []run) string {
	var out strings.Builder
	for n, r := range runs {
		if n > 0 {
			out.WriteString(separator(&runs[n-1], &r))
		}
		out.WriteString(r.text)
	}
	return tidy(out.String())
}

// separator returns the text between two strings.
func separator(last, r *run) string {
	size := math.Max(r.size, last.size)
	if !(size > 0) {
		size = 1
	}
	switch down := math.Abs(r.y - last.y); {
	case down > paragraphGap*size:
		return "\n\n"
	case down > sameLine*size:
		return "\n"
	}
	least := wordGap
	if !last.isMeasured {
		least = guessedGap
	}
	switch gap := r.x - last.end; {
	case gap > least*size:
		return " "
	case gap < -2*size && r.x < last.x: // another column, or a second pass over the line
		return "\n"
	}
	return ""
}

// tidy removes spaces at the ends of lines, doubled ones, and empty lines in a row.
func tidy(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" && (len(lines) == 0 || lines[len(lines)-1] == "") {
			continue
		}
		lines = append(lines, line)
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}
