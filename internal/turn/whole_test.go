package turn

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestWholeCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		var w whole
		var out strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			piece := w.Write(rest[:n])
			if !utf8.ValidString(piece) && utf8.ValidString(text) {
				t.Fatalf("piece %q", piece)
			}
			out.WriteString(piece)
			rest = rest[n:]
		}
		out.WriteString(w.Flush())
		if out.String() != text {
			t.Fatalf("%q became %q", text, out.String())
		}
	})
}

func TestInvalidBytesPassThrough(t *testing.T) {
	for _, text := range []string{"a\xff", "\x80\x80\x80\x80", "ok\xf0\x9f", "\xe2\x28"} {
		var w whole
		if got := w.Write(text) + w.Flush(); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
