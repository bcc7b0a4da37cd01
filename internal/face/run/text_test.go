package run

import "testing"

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
