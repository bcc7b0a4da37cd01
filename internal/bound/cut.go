package bound

import (
	"fmt"
	"unicode/utf8"
)

// Head returns the beginning of the text, at most limit bytes, cut between characters.
// A negative limit counts as zero.
func Head(text string, limit int) string {
	if limit >= len(text) {
		return text
	}
	limit = max(limit, 0)
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// Tail returns the end of the text, at most limit bytes, cut between characters. A
// negative limit counts as zero.
func Tail(text string, limit int) string {
	from := len(text) - max(limit, 0)
	if from <= 0 {
		return text
	}
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// Clip returns the text, or its Head and an ellipsis if it is longer than limit bytes.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return Head(text, limit) + "…"
}

// Ends returns the text, or its first head and last tail bytes if it is longer than
// both together. gap is the format of the line between them; its one verb is the
// number of bytes that are missing.
func Ends(text string, head, tail int, gap string) string {
	if len(text) <= Add(max(head, 0), max(tail, 0)) {
		return text
	}
	first, last := Head(text, head), Tail(text, tail)
	return first + "\n" + fmt.Sprintf(gap, len(text)-len(first)-len(last)) + "\n" + last
}
