package run

import (
	"testing"
	"time"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\nand more":         "plain\ttext\nand more",
		"größer 世界 🙂":                   "größer 世界 🙂",
		"\x1b[2J\x1b]0;title\x07":       "␛[2J␛]0;title␇",
		"a\r\nb\rc":                     "a\nb␍c",
		"\u009b31m\u0090":               `\x9b31m\x90`,
		"\x7f\x00":                      "␡␀",
		"invalid \xff\xfe stays \u2028": "invalid \xff\xfe stays \u2028",
	} {
		if got := Printable(in); got != want && utf8.ValidString(in) {
			t.Errorf("Printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b[0m\r\n")
	f.Add("\u009b\xc2")
	f.Fuzz(func(t *testing.T, in string) {
		out := Printable(in)
		for _, r := range out {
			if isControl(r) {
				t.Fatalf("Printable(%q) = %q has %q", in, out, r)
			}
		}
		if again := Printable(out); again != out {
			t.Fatalf("Printable(%q) = %q, then %q", in, out, again)
		}
	})
}

func TestOneLine(t *testing.T) {
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
		if got := oneLine(tt.in, tt.most); got != tt.want {
			t.Errorf("oneLine(%q, %d) = %q, want %q", tt.in, tt.most, got, tt.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:              "0 s",
		0:                         "0 ms",
		12 * time.Millisecond:     "12 ms",
		340 * time.Millisecond:    "0.3 s",
		4 * time.Second:           "4 s",
		9900 * time.Millisecond:   "9.9 s",
		42 * time.Second:          "42 s",
		90 * time.Second:          "1m30s",
		time.Hour:                 "1h",
		10 * time.Minute:          "10m",
		time.Hour + 4*time.Minute: "1h4m",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
}
