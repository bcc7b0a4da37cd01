package search

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGrepShow: file names, or counts of matching lines, instead of the lines.
func TestGrepShow(t *testing.T) {
	dir := t.TempDir()
	for n := range 4 {
		text := strings.Repeat("needle\nhay\n", n)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", n)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		in   args
		want string
	}{
		{args{"pattern": "needle", "show": "files"}, "f1\nf2\nf3\n\n(6 matches in 3 files)\n"},
		{args{"pattern": "needle", "show": "count", "context": 2}, "f1:1\nf2:2\nf3:3\n\n(6 matches in 3 files)\n"},
		{
			args{"pattern": "needle", "show": "count", "limit": 2},
			"f1:1\nf2:2\n\n(the first 3 matches; there are more: narrow the pattern, path or glob, or raise limit)\n",
		},
		{args{"pattern": "needle", "show": "files", "path": "f2"}, "f2\n\n(2 matches in 1 file)\n"},
		{args{"pattern": "needle", "show": "lines", "path": "f1"}, "f1\n1:needle\n\n(1 match in 1 file)\n"},
		{args{"pattern": "thread", "show": "count"}, "no matches"},
	} {
		got, err := run(t, Config{}, dir, "grep", tt.in)
		if diff := cmp.Diff(tt.want, got.Output); diff != "" || err != nil {
			t.Errorf("%v: %v (-want +got):\n%s", tt.in, err, diff)
		}
	}
}
