package policy

import (
	"strings"
	"testing"
)

func TestListed(t *testing.T) {
	for _, word := range strings.Fields(shells + showsText) {
		if !listed(shells+showsText, word) {
			t.Errorf("%q is not found", word)
		}
	}
	for _, word := range []string{"", "s", "sh bash", "bas", "rint", "flock\nxargs", "makes", "-"} {
		if listed(shells, word) {
			t.Errorf("%q is found", word)
		}
	}
}
