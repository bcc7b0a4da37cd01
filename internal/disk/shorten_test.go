package disk

import (
	"strings"
	"testing"
)

func TestShortenLeavesRoomForSuffix(t *testing.T) {
	for _, tt := range []struct{ name, path, suffix, want string }{
		{"short", "a/b.c", "-x", "a/b.c"},
		{"fits", "a/" + strings.Repeat("b", 253), "-x", "a/" + strings.Repeat("b", 253)},
		{"long", "a/" + strings.Repeat("b", 255), "-x", "a/" + strings.Repeat("b", 253)},
		{"half character", strings.Repeat("é", 127), "-x", strings.Repeat("é", 126)},
		{"not UTF-8", strings.Repeat("\x80", 255), "-x", strings.Repeat("\x80", 250)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Shorten(tt.path, tt.suffix); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
