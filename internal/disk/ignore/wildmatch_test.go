package ignore

import (
	"strings"
	"testing"
)

// Each of these takes practically forever if stars retry without a limit.
func TestWildmatchIsNotExponential(t *testing.T) {
	for _, tt := range []struct{ pattern, text string }{
		{strings.Repeat("*a", 40) + "*b", strings.Repeat("a", 4000)},
		{strings.Repeat("**/", 60) + "b", strings.Repeat("a/", 500) + "c"},
		{strings.Repeat("**/*a/", 40) + "b", strings.Repeat("a/", 500) + "c"},
		{strings.Repeat("**/a*/", 40) + "b", strings.Repeat("a/", 500) + "c"},
		{strings.Repeat("**/?", 40) + "b", strings.Repeat("/a", 500) + "c"},
	} {
		if wildPattern(tt.pattern).matches(tt.text) {
			t.Errorf("%.20q matches", tt.pattern)
		}
	}
}

func FuzzWildmatch(f *testing.F) {
	f.Add("a/**/[!b]*?\\c", "a/x/yzc")
	f.Add("**/[[:alpha:]-]", "x/-")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 40 || len(text) > 200 {
			return
		}
		_ = wildPattern(pattern).matches(text)
		if !strings.ContainsAny(pattern, `*?[\`) && wildPattern(pattern).matches(text) != (pattern == text) {
			t.Fatalf("%q is literal and %q", pattern, text)
		}
	})
}
