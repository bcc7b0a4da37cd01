package shell

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

func foldPieces(escapes bool, chunks ...string) string {
	f := folder{escapes: escapes}
	var b strings.Builder
	for _, chunk := range chunks {
		b.Write(f.add([]byte(chunk)))
	}
	b.Write(f.end())
	return b.String()
}

func TestFold(t *testing.T) {
	tests := []struct {
		name   string
		chunks []string
		want   string
	}{
		{"plain", []string{"a\nb\n"}, "a\nb\n"},
		{"windows lines", []string{"a\r\nb\r", "\n"}, "a\nb\n"},
		{"split character", []string{"caf\xc3", "\xa9"}, "café"},
		{"split in four", []string{"\xf0", "\x9f", "\x98", "\x80"}, "😀"},
		{"invalid", []string{"a\xffb"}, "a\uFFFDb"},
		{"cut character", []string{"a\xc3"}, "a\uFFFD"},
		{"nul", []string{"a\x00b"}, "a\uFFFDb"},
		{"progress", []string{"1%\r2%\r3%\ndone\n"}, "1%\n3%\ndone\n"},
		{"progress in pieces", []string{"1%", "\r", "2%", "\r3", "%\n"}, "1%\n3%\n"},
		{"progress without end", []string{"1%\r2%"}, "1%\n2%"},
		{"return at the start", []string{"\r1%\r2%\n"}, "1%\n2%\n"},
		{"return before nothing", []string{"a\r"}, "a"},
		{"escapes stay", []string{"\x1b[31mred\x1b[0m"}, "\x1b[31mred\x1b[0m"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := foldPieces(false, test.chunks...); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestFoldEscapes(t *testing.T) {
	tests := []struct{ in, want string }{
		{"\x1b[1;31mred\x1b[0m.", "red."},
		{"\x1b]0;title\x07text", "text"},
		{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"\x1b(Bx\x1b=y", "xy"},
		{"a\x1b", "a"},
	}
	for _, test := range tests {
		if got := foldPieces(true, test.in); got != test.want {
			t.Errorf("%q becomes %q, want %q", test.in, got, test.want)
		}
	}
}

// The text is valid and the same for every split of the output.
func FuzzFold(f *testing.F) {
	f.Add("1%\r2%\r\ncaf\xc3\xa9\x1b[0m\xff\x00", 3, true)
	f.Add("\x1b]x\x1b\\\r\r\n\xf0\x9f\x98\x80", 1, false)
	f.Fuzz(func(t *testing.T, in string, size int, escapes bool) {
		whole := foldPieces(escapes, in)
		if !utf8.ValidString(whole) {
			t.Fatalf("%q becomes %q, which is not valid", in, whole)
		}
		var chunks []string
		for rest := in; len(rest) > 0; {
			n := min(max(size, 1), len(rest))
			chunks = append(chunks, rest[:n])
			rest = rest[n:]
		}
		if got := foldPieces(escapes, chunks...); got != whole {
			t.Fatalf("in pieces of %d, %q becomes %q, not %q", size, in, got, whole)
		}
	})
}

func TestExcerpt(t *testing.T) {
	tests := []struct {
		name  string
		limit int
		in    []string
		want  string
	}{
		{"short", 10, []string{"abc", "def"}, "abcdef"},
		{"exact", 6, []string{"abcdef"}, "abcdef"},
		{"long", 6, []string{"abcdefghij"}, "abc\n[… 4 bytes are left out here …]\nhij"},
		{"in pieces", 6, []string{"a", "bcde", "fg", "hi", "j"}, "abc\n[… 4 bytes are left out here …]\nhij"},
		{"characters", 6, []string{"éééééé"}, "é\n[… 8 bytes are left out here …]\né"},
		{
			"lines", 40,
			[]string{"0123456789abcdef\nxx", strings.Repeat("-", 100), "x\n0123456789abcdef\n"},
			"0123456789abcdef\n[… 104 bytes are left out here …]\n0123456789abcdef\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := excerpt{limit: test.limit}
			for _, piece := range test.in {
				e.add([]byte(piece))
			}
			if got := e.text(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestExcerptIsBounded(t *testing.T) {
	e := excerpt{limit: 1000}
	for i := range 100_000 {
		e.add([]byte(fmt.Sprintln(i)))
	}
	if held := cap(e.head) + cap(e.tail); held > 3000 {
		t.Errorf("it holds %d bytes", held)
	}
	if got := e.text(); !strings.HasPrefix(got, "0\n1\n") || !strings.HasSuffix(got, "\n99999\n") {
		t.Errorf("got %q", got)
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		p := newProgress(func(text string) { got = append(got, text) })
		for _, word := range []string{"a", "b", "c"} {
			p.add([]byte(word))
		}
		time.Sleep(2 * progressDelay) // the bubble's clock
		synctest.Wait()
		p.add([]byte("d"))
		p.stop()
		p.add([]byte("too late"))
		time.Sleep(2 * progressDelay)
		synctest.Wait()
		if want := []string{"abc", "d"}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestProgressIsBounded(t *testing.T) {
	var b strings.Builder
	p := newProgress(func(text string) { b.WriteString(text) })
	for range 1000 {
		p.add([]byte(strings.Repeat("é", 1000)))
	}
	p.stop()
	got := b.String()
	if len(got) > progressBytes+len(progressMarker) || !strings.HasSuffix(got, progressMarker) ||
		!utf8.ValidString(got) {
		t.Errorf("%d bytes, ending in %q", len(got), got[max(0, len(got)-100):])
	}
}
