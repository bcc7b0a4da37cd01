package terminal_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/terminal"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\nand more": "plain\ttext\nand more",
		"größer 世界 🙂 👩\u200d💻 می\u200cخواهم":         "größer 世界 🙂 👩\u200d💻 می\u200cخواهم",
		"\x1b[2J\x1b]0;title\x07":                    "␛[2J␛]0;title␇",
		"a\r\nb\rc":                                  "a\nb␍c",
		"\u009b31m\u0090":                            `\x9b31m\x90`,
		"\x7f\x00":                                   "␡␀",
		"\x9b31m \xff\xfe":                           "\uFFFD31m \uFFFD\uFFFD",
		"rm -rf \u202e/ emoh \u2066x\u2069\u200f":    `rm -rf \u202e/ emoh \u2066x\u2069\u200f`,
		"two\u2028lines\ufeff":                       `two\u2028lines\ufeff`,
		"tags \U000e0041\U000e007f and a zero\u200b": `tags \U000e0041\U000e007f and a zero\u200b`,
	} {
		if got := terminal.Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
	if got := terminal.OneLine(" two\n lines\r\n\x1b"); got != "two lines ␛" {
		t.Errorf("Line = %q", got)
	}
}

// Sequences that terminals have been attacked with.
func escapes() []string {
	return []string{
		"\x1b]0;title\x07", "\x1b]0;title\x1b\\", "\x1b[21t", "\x1b[6n", "\x1b[c", "\x1b]52;c;cm0gLXJmIC8=\x07", "\x1bP$q\"p\x1b\\",
		"\x1bP+q544e\x1b\\", "\x1b]8;;file:///etc/passwd\x1b\\x\x1b]8;;\x1b\\", "\x1b[?1049h", "\x1bc", "\x1b(0", "\x0e", "\x0f", "\x1b[2;1r",
		"\u009d0;title\u009c", "\u009b2J", "\u0090$q\u009c", "\u009eprivacy\u009c", "\u009fapc\u009c", "\u0085", "\x9d0;title\x9c", "\x9b6n",
		"\r\x1b[K", "\b\b\b", "\x05", "\x7f", "a\u202eb", "\u2067x\u2069", "\u061c", "\u200e", "\U000e0041", "\x1b[200~",
	}
}

func TestNoSequenceReachesATerminal(t *testing.T) {
	for _, in := range escapes() {
		if out := terminal.Text(in); out == in || strings.IndexFunc(out, obeyed) >= 0 || !utf8.ValidString(out) {
			t.Errorf("Text(%q) = %q", in, out)
		}
		raw, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		out := terminal.JSON(string(raw))
		var back string
		if err := json.Unmarshal([]byte(out), &back); err != nil || back != strings.ToValidUTF8(in, "\uFFFD") &&
			utf8.ValidString(in) {
			t.Errorf("JSON(%q) = %q, which is %q (%v)", raw, out, back, err)
		}
		if strings.IndexFunc(out, obeyed) >= 0 {
			t.Errorf("JSON(%q) = %q", raw, out)
		}
	}
}

// obeyed reports whether Unicode classifies r as a control or format character, except for line
// ends and tabs.
func obeyed(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.Is(unicode.Cc, r) || unicode.Is(
		unicode.Bidi_Control, r,
	) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r))
}

func TestJSONWriter(t *testing.T) {
	in := "{\"a\":\"\u202e🙂\u009b\"}\n{}\n"
	for size := 1; size <= len(in); size++ {
		var b bytes.Buffer
		w := &terminal.JSONWriter{To: &b}
		for part := range slices.Chunk([]byte(in), size) {
			if n, err := w.Write(part); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if want := "{\"a\":\"\\u202e🙂\\u009b\"}\n{}\n"; b.String() != want {
			t.Errorf("by %d bytes: %q, want %q", size, b.String(), want)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range escapes() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := terminal.Text(in)
		if strings.IndexFunc(out, obeyed) >= 0 || !utf8.ValidString(out) {
			t.Fatalf("Text(%q) = %q", in, out)
		}
		if again := terminal.Text(out); again != out {
			t.Fatalf("Text(%q) = %q, then %q", in, out, again)
		}
		raw, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		if json.Unmarshal(raw, &before) != nil || json.Unmarshal(
			[]byte(terminal.JSON(string(raw))), &after,
		) != nil || before != after {
			t.Fatalf("JSON changed %q to %q", before, after)
		}
	})
}

func TestShort(t *testing.T) {
	for _, tt := range []struct {
		in   string
		most int
		want string
	}{
		{"short", 10, "short"},
		{"two\n lines\t here", 20, "two lines here"},
		{"much too long for it", 10, "much too …"},
		{"äöüäöüäöüäöü", 4, "äöü…"},
	} {
		if got := terminal.Short(tt.in, tt.most); got != tt.want {
			t.Errorf("Short(%q, %d) = %q, want %q", tt.in, tt.most, got, tt.want)
		}
	}
}
