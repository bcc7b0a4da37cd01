package file

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// applyHunks returns the file with the hunks applied in order. Every line that they do not
// remove keeps its bytes, also context lines.
func applyHunks(ctx context.Context, path string, data []byte, hunks []hunk) ([]byte, error) {
	text, bom := strings.CutPrefix(string(data), utf8BOM)
	file := splitLines(text)
	ending := lineEnding(data)
	if ending == "" {
		ending = "\n"
	}
	var out []line
	at := 0
	for _, h := range hunks {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		start, err := findHunk(path, file, h, at)
		if err == nil {
			err = checkSigns(path, file, h, start)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, file[at:start]...)
		at = start
		for _, l := range h.lines {
			switch {
			case l.mark == '+':
				out = append(out, line{l.text, endingNear(file, at, ending)})
			case at == len(file): // The blank line after the last line, which findHunk accepts.
			default:
				if l.mark == ' ' {
					out = append(out, file[at])
				}
				at++
			}
		}
	}
	out = append(out, file[at:]...)
	keepLastEnding(out, file, ending)
	if bom {
		return []byte(utf8BOM + joinLines(out)), nil
	}
	return []byte(joinLines(out)), nil
}

// endingNear returns the ending of the line before at, so that a file with mixed endings
// keeps them in place.
func endingNear(file []line, at int, otherwise string) string {
	if at > 0 && file[at-1].end != "" {
		return file[at-1].end
	}
	return otherwise
}

// keepLastEnding keeps a missing newline at the end of the file, and adds one to a line
// that is no longer the last.
func keepLastEnding(out, file []line, ending string) {
	for i := range out {
		last := i == len(out)-1
		switch {
		case last && len(file) > 0 && file[len(file)-1].end == "":
			out[i].end = ""
		case out[i].end == "":
			out[i].end = ending
		}
	}
}

// old returns the lines that the file must contain.
func (h hunk) old() []string {
	var old []string
	for _, l := range h.lines {
		if l.mark != '+' {
			old = append(old, l.text)
		}
	}
	return old
}

// findHunk returns the index of the line at which the hunk applies.
func findHunk(path string, file []line, h hunk, from int) (int, error) {
	anchor := -1
	for _, text := range h.anchors {
		found := findAnchor(file, text, max(from, anchor+1))
		if found < 0 {
			return 0, anchorError(path, file, h, text, from)
		}
		anchor = found
	}
	old := h.old()
	base := max(from, anchor+1)
	switch {
	case len(old) == 0 && anchor >= 0 && !h.atEnd:
		return base, nil // only additions: after the anchor,
	case len(old) == 0:
		return len(file), nil // or else at the end
	case h.atEnd:
		return findAtEnd(path, file, h, old, base)
	}
	starts := findRun(file, old, base)
	if len(starts) == 0 && anchor >= from {
		starts = findRun(file, old, anchor) // the context can begin with the anchor itself
	}
	if len(starts) == 0 {
		starts = findBeforeBlankEnd(file, old, base)
	}
	if len(starts) == 0 {
		return 0, missingError(path, file, h, old, from)
	}
	if len(starts) > 1 && anchor < 0 {
		return 0, ambiguousError(path, h, starts)
	}
	return starts[0], nil
}

// findAnchor finds a line, if necessary ignoring white space around it.
func findAnchor(file []line, text string, from int) int {
	for i := from; i < len(file); i++ {
		if file[i].text == text {
			return i
		}
	}
	for i := from; i < len(file); i++ {
		if plain(strings.TrimSpace(file[i].text)) == plain(text) {
			return i
		}
	}
	return -1
}

// findRun returns the positions of the lines by the strictest rule that matches: exact;
// without white space at line ends; with typographic signs read as plain ones, which models
// confuse. Indentation always counts, because the added lines would otherwise be indented
// wrongly.
func findRun(file []line, run []string, from int) []int {
	for _, form := range []func(string) string{asIs, trimEnd, func(s string) string { return plain(trimEnd(s)) }} {
		want := make([]string, len(run))
		for i, s := range run {
			want[i] = form(s)
		}
		var starts []int
		for at := from; at+len(run) <= len(file); at++ {
			if runAt(file, want, at, form) {
				starts = append(starts, at)
			}
		}
		if len(starts) > 0 {
			return starts
		}
	}
	return nil
}

func runAt(file []line, want []string, at int, form func(string) string) bool {
	for i := range want {
		if form(file[at+i].text) != want[i] {
			return false
		}
	}
	return true
}

// findBeforeBlankEnd accepts a last, blank line of context at the end of the file, where
// editors show one.
func findBeforeBlankEnd(file []line, old []string, from int) []int {
	last := len(old) - 1
	start := len(file) - last
	if last < 1 || strings.TrimSpace(old[last]) != "" || start < from {
		return nil
	}
	return findRun(file, old[:last], start)
}

func findAtEnd(path string, file []line, h hunk, old []string, from int) (int, error) {
	start := len(file) - len(old)
	if start >= from && len(findRun(file, old, start)) > 0 {
		return start, nil
	}
	if starts := findBeforeBlankEnd(file, old, from); len(starts) > 0 {
		return starts[0], nil
	}
	if starts := findRun(file, old, from); len(starts) > 0 {
		return 0, fmt.Errorf("line %d of the patch: the lines are in %q at %s, but not at its end, as %q says",
			h.line, path, lineRange(starts[0], len(old)), patchEOF)
	}
	return 0, missingError(path, file, h, old, from)
}

// checkSigns refuses typographic signs in a hunk's added lines if the hunk also has them in
// lines where the file has plain ones: they are the model's mistake, which only matching
// ignores.
func checkSigns(path string, file []line, h hunk, start int) error {
	differs, at := false, start
	for _, l := range h.lines {
		if l.mark == '+' || at >= len(file) {
			continue
		}
		differs = differs || plain(l.text) != l.text && trimEnd(l.text) != trimEnd(file[at].text)
		at++
	}
	added := slices.ContainsFunc(h.lines, func(l hunkLine) bool { return l.mark == '+' && plain(l.text) != l.text })
	if !differs || !added {
		return nil
	}
	return fmt.Errorf(
		"line %d of the patch: it has typographic quotes, dashes or spaces where %q has plain ones, and adds more of them; there is:\n%s",
		h.line,
		path,
		numbered(file, start, at-start),
	)
}

func asIs(s string) string    { return s }
func trimEnd(s string) string { return strings.TrimRight(s, " \t\r\v\f") }

// plain replaces typographic dashes, quotes and spaces by ASCII.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '\u2010' && r <= '\u2015', r == '\u2212':
			return '-'
		case r >= '\u2018' && r <= '\u201B':
			return '\''
		case r >= '\u201C' && r <= '\u201F':
			return '"'
		case r == '\u00A0', r >= '\u2002' && r <= '\u200A', r == '\u202F', r == '\u205F', r == '\u3000':
			return ' '
		}
		return r
	}, s)
}

func anchorError(path string, file []line, h hunk, text string, from int) error {
	if at := findAnchor(file[:from], text, 0); at >= 0 {
		return fmt.Errorf(
			"line %d of the patch: %q is line %d of %q, before the change above; changes must be in the order of the file",
			h.line,
			clip(text),
			at+1,
			path,
		)
	}
	return fmt.Errorf("line %d of the patch: %s", h.line,
		explainMissing(fmt.Sprintf("the line %q", clip(text)), path, file, []string{text}))
}

func missingError(path string, file []line, h hunk, old []string, from int) error {
	if starts := findRun(file[:from], old, 0); len(starts) > 0 {
		return fmt.Errorf(
			"line %d of the patch: these lines are at %s of %q, before the change above; changes must be in the order of the file",
			h.line,
			lineRange(starts[0], len(old)),
			path,
		)
	}
	if starts := findRun(file, old, 0); len(starts) > 0 {
		return fmt.Errorf("line %d of the patch: these lines are at %s of %q, but not after the line that @@ names",
			h.line, lineRange(starts[0], len(old)), path)
	}
	return fmt.Errorf("line %d of the patch: %s", h.line, explainMissing("this run of lines", path, file, old))
}

func ambiguousError(path string, h hunk, starts []int) error {
	numbers := make([]int, 0, maxListed)
	for _, s := range starts[:min(len(starts), maxListed)] {
		numbers = append(numbers, s+1)
	}
	return fmt.Errorf("line %d of the patch: these lines occur %d times in %q, beginning on lines %s; "+
		"add lines of context, or the line of the function after @@", h.line, len(starts), path,
		listed(numbers, len(starts)))
}
