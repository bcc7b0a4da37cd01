package run

import (
	"testing"
	"time"
)

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
