package turn

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestWholeCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		var w runeBuffer
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
		var w runeBuffer
		if got := w.Write(text) + w.Flush(); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "1 second", 1500 * time.Millisecond: "1.5 seconds", 59 * time.Second: "59 seconds", time.Minute: "1 minute", 3 * time.Minute: "3 minutes",
		time.Minute + 999*time.Millisecond: "1 minute", time.Minute + time.Second: "1 minute 1 second", 2*time.Minute + 1900*time.Millisecond: "2 minutes 1 second",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestBounded(t *testing.T) {
	fits := strings.Repeat("x", maxOutput)
	if bounded(fits) != fits {
		t.Error("what fits was cut")
	}
	if got, want := bounded(fits+"end"), fits[:maxOutput/2]+"\n[3 bytes left out]\n"+fits[:maxOutput/2-3]+"end"; got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	odd := "x" + strings.Repeat("é", maxOutput/2) // cut within characters
	if got := bounded(odd); !utf8.ValidString(got) || !strings.Contains(got, "\n[2 bytes left out]\n") {
		t.Errorf("it says %q", got[maxOutput/2-4:maxOutput/2+40])
	}
}
