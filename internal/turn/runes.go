package turn

import "unicode/utf8"

// runeBuffer passes text on in complete characters: it keeps an incomplete character until the
// rest arrives, so that the log has the text to the byte (C4).
type runeBuffer struct{ rest string }

// Write returns the text that is complete now.
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

// Flush returns the incomplete rest.
func (w *runeBuffer) Flush() string {
	rest := w.rest
	w.rest = ""
	return rest
}
