package file

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxNearLines and maxNearBytes bound the quote of a file in an error.
	maxNearLines = 12
	maxNearBytes = 160
	// maxCompare bounds the line comparisons of a search for a near match.
	maxCompare = 4 << 20
	// maxScored bounds the lines that are scored by similarity.
	maxScored = 20_000
)

// explainMissing explains why a file does not contain the text, and shows the most similar
// lines. name is the model's name of the text.
func explainMissing(name, path string, file []line, text []string) string {
	text = trimBlank(text)
	if len(text) == 0 {
		return fmt.Sprintf("%s is not in %q: it is blank", name, path)
	}
	head := fmt.Sprintf("%s is not in %q", name, path)
	if at := findTrimmed(file, text, asIs); at >= 0 {
		near := file[at : at+len(text)]
		return fmt.Sprintf("%s as it is given; like it, but different in %s, there is:\n%s", head,
			spaceDifference(near, text), numbered(file, at, len(text)))
	}
	if at := findTrimmed(file, text, plain); at >= 0 {
		return fmt.Sprintf(
			"%s as it is given; like it, but different in quotes, dashes or spaces that only look alike, there is:\n%s",
			head, numbered(file, at, len(text)),
		)
	}
	hint := ""
	switch {
	case isNotebook(path):
		hint = "; a notebook is a JSON file, in which each line of a cell is a string: \"x = 1\\n\","
	case hasLineNumbers(text):
		hint = "; it seems to have line numbers in it, which read puts before each line and which are not part of the file"
	case strings.ContainsRune(strings.Join(text, ""), '\uFFFD'):
		hint = "; it contains \uFFFD, which replaces bytes that are not UTF-8: choose lines without it"
	}
	at, size := nearest(file, text)
	if at < 0 {
		return head + hint + "; nothing like it is there. Read the file again"
	}
	return fmt.Sprintf("%s%s; nearest to it, there is:\n%s", head, hint, numbered(file, at, size))
}

// trimBlank removes blank lines from both ends.
func trimBlank(text []string) []string {
	for len(text) > 0 && strings.TrimSpace(text[0]) == "" {
		text = text[1:]
	}
	for len(text) > 0 && strings.TrimSpace(text[len(text)-1]) == "" {
		text = text[:len(text)-1]
	}
	return text
}

func lineRange(at, size int) string {
	if size == 1 {
		return fmt.Sprintf("line %d", at+1)
	}
	return fmt.Sprintf("lines %d-%d", at+1, at+size)
}

// findTrimmed finds text in the file, ignoring white space around lines. form converts
// lines before they are compared.
func findTrimmed(file []line, text []string, form func(string) string) int {
	if len(file)*len(text) > maxCompare {
		return -1
	}
	have, want := make([]string, len(file)), make([]string, len(text))
	for i, l := range file {
		have[i] = strings.TrimSpace(form(l.text))
	}
	for i, s := range text {
		want[i] = strings.TrimSpace(form(s))
	}
	for at := 0; at+len(want) <= len(have); at++ {
		if slices.Equal(have[at:at+len(want)], want) {
			return at
		}
	}
	return -1
}

// spaceDifference describes the difference in white space between two runs of lines.
func spaceDifference(near []line, text []string) string {
	indented := false
	for i, l := range near {
		have, want := indentOf(l.text), indentOf(text[i])
		if have != want {
			indented = true
		}
		if strings.Contains(have, "\t") && want != "" && !strings.Contains(want, "\t") {
			return "indentation (the file has tabs, the text has spaces)"
		}
		if strings.Contains(want, "\t") && have != "" && !strings.Contains(have, "\t") {
			return "indentation (the file has spaces, the text has tabs)"
		}
	}
	if indented {
		return "indentation"
	}
	if !slices.ContainsFunc(text, func(s string) bool {
		return !slices.ContainsFunc(near,
			func(l line) bool { return l.text == s })
	}) {
		return "blank lines before or after"
	}
	return "white space at the ends of lines"
}

func indentOf(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// hasLineNumbers reports whether each line begins with a line number in the form of read.
func hasLineNumbers(text []string) bool {
	for _, s := range text {
		number, _, found := strings.Cut(strings.TrimLeft(s, " "), "\t")
		if _, err := strconv.Atoi(number); !found || err != nil {
			return false
		}
	}
	return true
}

// nearest returns the run of lines that is most similar to the text: with the most equal
// lines except for white space, or else with a line similar to its longest one.
func nearest(file []line, text []string) (at, size int) {
	size = min(len(text), len(file), maxNearLines)
	if at, n := commonRun(file, text); n > 0 {
		return at, min(size, len(file)-at)
	}
	longest := 0
	for i := range text {
		if len(text[i]) > len(text[longest]) {
			longest = i
		}
	}
	best, score := -1, 0.5
	for i := range min(len(file), maxScored) {
		if s := similarity(strings.TrimSpace(file[i].text), strings.TrimSpace(text[longest])); s > score {
			best, score = i, s
		}
	}
	if best < 0 {
		return -1, 0
	}
	at = max(0, best-min(longest, maxNearLines-1))
	return at, min(size, len(file)-at)
}

// commonRun returns the start of the run that has the most lines in common with the text,
// and their number. Short lines such as "}" do not count.
func commonRun(file []line, text []string) (at, limit int) {
	if len(file)*len(text) > maxCompare {
		return 0, 0
	}
	trimmed := make([]string, len(text))
	for i, s := range text {
		trimmed[i] = strings.TrimSpace(plain(s))
	}
	have := make([]string, len(file))
	for i, l := range file {
		have[i] = strings.TrimSpace(plain(l.text))
	}
	for from := range have {
		n := 0
		for i := 0; i < len(trimmed) && from+i < len(have); i++ {
			if len(trimmed[i]) >= 3 && have[from+i] == trimmed[i] {
				n++
			}
		}
		if n > limit {
			at, limit = from, n
		}
	}
	return at, limit
}

// similarity is the Dice coefficient of the byte pairs of two strings: 1 for equal strings,
// 0 without a common pair.
func similarity(a, b string) float64 {
	a, b = a[:min(len(a), maxNearBytes)], b[:min(len(b), maxNearBytes)]
	if len(a) < 2 || len(b) < 2 {
		return 0
	}
	pairs := make(map[[2]byte]int, len(a))
	for i := range len(a) - 1 {
		pairs[[2]byte{a[i], a[i+1]}]++
	}
	shared := 0
	for i := range len(b) - 1 {
		if pair := [2]byte{b[i], b[i+1]}; pairs[pair] > 0 {
			pairs[pair]--
			shared++
		}
	}
	return 2 * float64(shared) / float64(len(a)+len(b)-2)
}

// numbered shows lines in the form of read.
func numbered(file []line, at, size int) string {
	var b strings.Builder
	for i := at; i < at+min(size, maxNearLines); i++ {
		text := file[i].text
		if len(text) > maxNearBytes {
			text = text[:runeBoundary([]byte(text), maxNearBytes)] + " …"
		}
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, strings.ToValidUTF8(text, "\uFFFD"))
	}
	if size > maxNearLines {
		fmt.Fprintf(&b, "   … (%d more lines)\n", size-maxNearLines)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
