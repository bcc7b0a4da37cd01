package turn

import "unicode/utf8"

// whole passes text on in whole characters: a piece that ends within one waits
// for its rest, so that what the log keeps is what was said, to the byte (C4).
type runeBuffer struct{ rest string }

// Write returns what may be passed on now.
func (w *runeBuffer) Write(text string) string {
	if w.rest != "" {
		text, w.rest = w.rest+text, ""
	}
	n := len(text)
	for back := 1; back <= min(utf8.UTFMax-1, n); back++ {
		if c := text[n-back]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(text[n-back:]) {
				text, w.rest = text[:n-back], text[n-back:]
			}
			break
		}
	}
	return text
}

// Flush returns what still waits; it will not become a character.
func (w *runeBuffer) Flush() string {
	rest := w.rest
	w.rest = ""
	return rest
}
