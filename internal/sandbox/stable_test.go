//go:build unix

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A rule in or behind a folder that commands can write to is left out.
func TestSteadyLeavesOutPathsThatCommandsCanRedirect(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"work/sub", "other/deep", "shared"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"alias": "work", "through": "work/sub", "work/out": "../other", "same": "shared"} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	in := func(names string) (out []string) {
		for name := range strings.FieldsSeq(names) {
			out = append(out, filepath.Join(top, name))
		}
		return out
	}
	p := Policy{
		Read:  in("work work/sub alias alias/sub through work/out work/none other other/deep same none"),
		Write: in("work work/sub shared alias/sub"),
	}
	got := p.Steady(p.Write)
	if diff := cmp.Diff(Policy{Read: in("work alias other other/deep same none"), Write: in("work shared")}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(p.Read) != 11 || len(p.Write) != 4 {
		t.Errorf("the policy itself has changed: %v", p)
	}
}
